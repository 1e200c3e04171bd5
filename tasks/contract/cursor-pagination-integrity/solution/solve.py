"""Percent-encode each cursor whole, ask while requests remain, else wait until one more is allowed; copy every item."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Pages = list[list[str]]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Collect the items and hand in the receipt."""
    play(api, instruction, wait)


def announced(answer: httpx.Response, cost: float) -> float:
    """The seconds to wait before the next page, as the headers of this one tell; less its cost, if its cursor would end."""
    if int(answer.headers["X-RateLimit-Remaining"]):
        return 0
    reset, now = float(answer.headers["X-RateLimit-Reset"]), float(answer.headers["X-Virtual-Time"])
    return reset if now + reset + cost < answer.json()["cursor_expires_at"] else reset - cost


def page_seconds(instruction: str) -> int:
    """The seconds that a page takes."""
    seconds = re.search(r"A page takes (\d+) seconds", instruction)
    assert seconds
    return int(seconds[1])


def encoded(cursor: str) -> str:
    """The cursor as a value of a query: everything but unreserved characters escaped."""
    return quote(cursor, safe="")


def all_items(pages: Pages) -> Any:
    """The items of all pages in one list."""
    return [item for page in pages for item in page]


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    encode: Callable[[str], str] = encoded,
    pace: Callable[[httpx.Response, float], float] = announced,
    patience: Callable[[int, float], float | None] = lambda attempt, told: told,
    linger: float = 0,
    most: int | None = None,
    collect: Callable[[Pages], Any] = all_items,
    edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda final: final,
    shift: int = 0,
    hand_in: Callable[[httpx.Response], str] = lambda answer: answer.json()["receipt"],
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `linger` waits once, before the second page; no more than `most` pages are read.
    """
    api.get("/api/docs")
    pages: Pages = []
    target = "/api/page"
    while target and len(pages) != most:
        answer = fetch(api, target, wait, patience)
        page = answer.json()
        pages.append(page["items"])
        target = f"/api/page?cursor={encode(page['next_cursor'])}" if page["next_cursor"] else ""
        if target and (seconds := pace(answer, page_seconds(instruction))):
            wait(seconds)
        if linger and len(pages) == 1:
            wait(linger)
    final = edit({"anchor": anchor_slice(instruction, shift), "collected": collect(pages)})
    verified = api.post("/api/verify", json=final).raise_for_status()
    api.post("/submission", content=hand_in(verified))


def fetch(api: httpx.Client, target: str, wait: Wait, patience: Callable[[int, float], float | None]) -> httpx.Response:
    """One page, asked for again after every 429."""
    attempt = 0
    while (answer := api.get(target)).status_code == 429:
        seconds = patience(attempt, float(answer.headers["Retry-After"]))
        if seconds is None:
            break
        if seconds:
            wait(seconds)
        attempt += 1
    return answer.raise_for_status()
