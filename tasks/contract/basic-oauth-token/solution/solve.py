"""Encode the form once, start the job, wait as told; a new token, if the old one would not last, while the job runs."""

import re
from collections.abc import Callable

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Pairs = dict[str, str]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch the result and hand it in."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    fields: Callable[[Pairs], Pairs] = lambda fields: fields,
    ask: Callable[[httpx.Client, Pairs], httpx.Response] = lambda api, fields: api.post("/token", data=fields),
    starts: int = 1,
    pace: Callable[[float, float], float] = lambda told, life: told,
    keep: bool = False,
    ended: bool = False,
    query: str = "",
    headers: Callable[[str, str], Pairs] = lambda token, part: {"Authorization": f"Bearer {token}", "X-Seed-Anchor": part},
    shift: int = 0,
    hand_in: Callable[[httpx.Response], bytes] = lambda answer: answer.content,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `pace(told, life)` is the wait between start and result; `keep` asks for one token only, `ended` for two to use the first.
    """
    credentials = fields({"grant_type": "client_credentials", **read_credentials(instruction)})
    first = ask(api, credentials).raise_for_status()
    token = first.json()["access_token"]
    jobs = [job(api, token) for _ in range(starts)]
    now = answered_at(jobs[-1] if jobs else first)
    told = answered_at(jobs[0]) + float(jobs[0].headers["Retry-After"]) - now if jobs else 0.0
    # the result is asked for when the job is done, and judged when that request is over
    lasts = now + told + cost(instruction) < answered_at(first) + first.json()["expires_in"]
    renews = ended or not (keep or lasts)
    if (seconds := pace(told, first.json()["expires_in"]) - (cost(instruction) if renews else 0)) > 0:
        wait(seconds)
    newest = ask(api, credentials).raise_for_status().json()["access_token"] if renews else token
    token = token if ended else newest
    given = headers(token, anchor_slice(instruction, shift))
    answer = api.get(f"/api/data{query.format(token=token)}", headers=given).raise_for_status()
    api.post("/submission", content=hand_in(answer))


def job(api: httpx.Client, token: str) -> httpx.Response:
    """Start the job; the answer tells how long it takes."""
    return api.post("/api/job", headers={"Authorization": f"Bearer {token}"}).raise_for_status()


def answered_at(answer: httpx.Response) -> float:
    """When an answer came, in virtual seconds."""
    return float(answer.headers["X-Virtual-Time"])


def read_credentials(instruction: str) -> Pairs:
    """Client id and secret, as the instruction prints them."""
    found = re.search(r"client id: `([^`]+)`\s+- client secret: `([^`]+)`", instruction)
    assert found
    return {"client_id": found[1], "client_secret": found[2]}


def cost(instruction: str) -> int:
    """The seconds that a request takes."""
    found = re.search(r"Every request takes (\d+) seconds", instruction)
    assert found
    return int(found[1])
