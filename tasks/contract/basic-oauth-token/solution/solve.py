"""Encode the form once, start the job, wait as told, and fetch a new token whenever the old one would not last."""

import re
from collections.abc import Callable
from typing import Any

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
    start: bool = True,
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

    def fetch() -> dict[str, Any]:
        got: dict[str, Any] = ask(api, credentials).raise_for_status().json()
        return got

    token, told = fetch(), 0.0
    if start:
        told = job(api, token["access_token"])
    if seconds := pace(told, token["expires_in"]):
        wait(seconds)
    # the start, the wait, the result's own cost, and one more request to be safe
    if ended or (not keep and token["expires_in"] <= told + 3 * cost(instruction)):
        token = {**fetch(), **(token if ended else {})}
    given = headers(token["access_token"], anchor_slice(instruction, shift))
    answer = api.get(f"/api/data{query.format(token=token['access_token'])}", headers=given).raise_for_status()
    api.post("/submission", content=hand_in(answer))


def job(api: httpx.Client, token: str) -> float:
    """Start the job; the seconds it asks to wait."""
    answer = api.post("/api/job", headers={"Authorization": f"Bearer {token}"}).raise_for_status()
    return float(answer.headers["Retry-After"])


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
