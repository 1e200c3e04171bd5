"""Ask while requests remain, else wait until one more is allowed: the 429 is never met and every cursor is fresh."""

import math
from collections.abc import Callable

import httpx
from reading import seed_string

Wait = Callable[[float], None]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Read the record and hand it in."""
    play(api, instruction, wait)


def announced(answer: httpx.Response) -> float:
    """The seconds to wait before the next page, as the headers of this one tell."""
    return 0 if int(answer.headers["X-RateLimit-Remaining"]) else float(answer.headers["X-RateLimit-Reset"])


def planned(start: httpx.Response) -> Callable[[httpx.Response], float]:
    """As announced; evenly, where a cursor does not live until the quota's window is over."""
    told = start.json()
    quota, life = told["quota"], told["expires_at"] - float(start.headers["X-Virtual-Time"])
    return announced if life >= quota["window_seconds"] else lambda answer: evenly(quota)


def evenly(quota: dict[str, int]) -> float:
    """The seconds to wait before every page, which itself takes one, so that no window has more than the quota."""
    return math.ceil(1000 * quota["window_seconds"] / quota["requests"]) / 1000 - 1


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    opens: int = 1,
    pages: Callable[[int], list[int]] = lambda total: list(range(total)),
    pace: Callable[[httpx.Response], float] | None = None,
    patience: Callable[[int, float], float | None] = lambda attempt, told: told,
    linger: tuple[int, float] | None = None,
    mangle: Callable[[str], str] = lambda cursor: cursor,
    stale: bool = False,
    slice_of: Callable[[int], int] = lambda page: 24 * page,
    without: str = "",
    hand_in: Callable[[list[str]], str] = "".join,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `linger` waits once, before the page with that number; `patience(attempt, told)` is the wait after a 429, None gives up.
    """
    starts = [api.get("/api/bootstrap") for _ in range(opens)]
    cursor = starts[0].json()["initial_cursor"] if starts else "none-yet"
    pace = pace or (planned(starts[0]) if starts else announced)
    anchor, data = seed_string(instruction), []
    wanted = pages(starts[0].json()["total"] if starts else 1)
    for page in wanted:
        if linger and linger[0] == page:
            wait(linger[1])
        start = slice_of(page)
        headers = {"X-Page-Cursor": mangle(cursor), "X-Seed-Anchor": anchor[start : start + 24]}
        headers.pop(without, None)
        answer = fetch(api, page, headers, wait, patience)
        data.append(answer.json()["data"])
        cursor = cursor if stale else answer.json()["next_cursor"] or cursor
        if page != wanted[-1] and (seconds := pace(answer)):
            wait(seconds)
    api.post("/submission", content=hand_in(data))


def fetch(
    api: httpx.Client, page: int, headers: dict[str, str], wait: Wait, patience: Callable[[int, float], float | None]
) -> httpx.Response:
    """One page, asked for again after every 429."""
    attempt = 0
    while (answer := api.get(f"/api/data?page={page}", headers=headers)).status_code == 429:
        seconds = patience(attempt, float(answer.headers["Retry-After"]))
        if seconds is None:
            break
        if seconds:
            wait(seconds)
        attempt += 1
    return answer.raise_for_status()
