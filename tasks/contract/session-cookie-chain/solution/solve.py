"""A standard cookie jar does it all; only the proof looks into it, for the session as it is at the end."""

import re
from collections.abc import Callable

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Pairs = list[tuple[str, str]]
"""Cookies of one request: name and value."""

STEP, COMPLETE = "/api/workflow/step", "/api/workflow/complete"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Go through the workflow and hand in the receipt."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    starts: int = 1,
    plan: Callable[[list[int]], list[int]] = lambda steps: steps,
    edit: Callable[[Pairs, Pairs], Pairs] = lambda pairs, seen: pairs,
    linger: Callable[[int, Pairs], float] = lambda number, pairs: 0,
    look: Callable[[int, Pairs], int] = lambda number, pairs: 0,
    proof_of: Callable[[list[str]], str] = lambda ids: ids[-1],
    without: str = "",
    shift: int = 0,
    hand_in: Callable[[str, list[str]], str] = lambda receipt, ids: receipt,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `edit` gets the cookies that the jar would send and all that it ever sent, oldest first; `linger` and `look`, how often to
    look at the session, get the number of the request, 0 for the first step, and its cookies; `proof_of` all ids so far.
    """
    seen: Pairs = []
    ids = [""]

    def send(method: str, path: str, headers: dict[str, str], number: int) -> httpx.Response:
        request = api.build_request(method, path, headers=headers)
        pairs = [read_pair(pair) for pair in request.headers.get("Cookie", "").split("; ") if pair]
        seen.extend(pairs)
        if seconds := linger(number, pairs):
            wait(seconds)
        for _ in range(look(number, pairs)):
            api.get("/api/session").raise_for_status()
        request.headers.pop("Cookie", None)
        if edited := edit(pairs, seen):
            request.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in edited)
        answer = api.send(request).raise_for_status()
        ids.append(api.cookies.get("session", "").partition(".")[0])
        return answer

    for _ in range(starts):
        api.post("/api/session/start").raise_for_status()
    for number, step in enumerate(plan(list(range(1, steps(instruction) + 1)))):
        send("GET", f"{STEP}/{step}", {}, number)
    part = anchor_slice(instruction, shift)
    headers = {"X-Seed-Anchor": part, "X-Seed-Proof": f"{part}:{proof_of(ids)[-8:]}"}
    headers.pop(without, None)
    receipt = send("POST", COMPLETE, headers, -1).json()["receipt"]
    api.post("/submission", content=hand_in(receipt, ids))


def read_pair(text: str) -> tuple[str, str]:
    """Name and value of one cookie."""
    name, _, value = text.partition("=")
    return name, value


def steps(instruction: str) -> int:
    """How many steps there are."""
    found = re.search(r"a workflow of (\d+) steps", instruction)
    assert found
    return int(found[1])
