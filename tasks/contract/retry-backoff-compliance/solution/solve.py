"""One item after the other; after each 503 wait so that the next request is answered when Retry-After has passed."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Show = Callable[[str, list[str]], str | None]
"""Which token to show, of the one that is due and of all so far."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch all items and hand in the receipt."""
    play(api, instruction, wait)


def exactly(told: float, cost: float, attempt: int) -> float:
    """The wait after which a request of this cost is answered when Retry-After has passed."""
    return told - cost


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    pace: Callable[[float, float, int], float] = exactly,
    show: Show = lambda token, tokens: token,
    errand: Callable[[int], str | None] = lambda number: None,
    detour: Callable[[int], str | None] = lambda number: None,
    order: Callable[[range], Iterable[int]] = lambda numbers: numbers,
    edit: Callable[[list[str]], Any] = lambda items: items,
    left_out: int = 0,
    without: str = "",
    shift: int = 0,
    hand_in: Callable[[str, list[str]], str] = lambda receipt, items: receipt,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `pace(told, cost, attempt)` is the wait after a 503; `errand(number)` is what to ask for before it, `detour(number)` after
    it; `left_out` items are never asked for.
    """
    count, cost = announced(instruction)
    numbers = range(1, count + 1 - left_out)
    ways = (lambda told, n: pace(told, cost, n), show, errand, detour)
    fetched = {number: fetch(api, number, wait, *ways) for number in order(numbers)}
    items = [fetched[number] for number in numbers]
    headers = {"X-Seed-Anchor": anchor_slice(instruction, shift)}
    headers.pop(without, None)
    answer = api.post("/api/complete", json={"items": edit(items)}, headers=headers).raise_for_status()
    api.post("/submission", content=hand_in(answer.json()["receipt"], items))


def fetch(
    api: httpx.Client,
    number: int,
    wait: Wait,
    pace: Callable[[float, int], float],
    show: Show,
    errand: Callable[[int], str | None],
    detour: Callable[[int], str | None],
) -> str:
    """The data of one item, asked for until it is there, at most twelve times."""
    tokens: list[str] = []
    for attempt in range(12):
        token = show(tokens[-1], tokens) if tokens else None
        answer = api.get(f"/api/data/{number}", headers={"X-Retry-Token": token} if token else None)
        if answer.status_code != 503 or "Retry-After" not in answer.headers:
            return answer.raise_for_status().json()["data"]
        tokens.append(answer.json()["retry_token"])
        if path := errand(number):
            api.get(path)
        if (seconds := pace(float(answer.headers["Retry-After"]), attempt)) > 0:
            wait(seconds)
        if path := detour(number):
            api.get(path)
    raise TimeoutError(number)


def announced(instruction: str) -> tuple[int, float]:
    """How many items there are, and what a request costs."""
    count, cost = re.search(r"has (\d+) items", instruction), re.search(r"Every request takes (\d+) second", instruction)
    assert count
    assert cost
    return int(count[1]), float(cost[1])
