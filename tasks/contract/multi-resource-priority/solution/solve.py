"""Session, page, then the files by earliest deadline, compared as instants; joined at the end in the order of the page."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import httpx
from reading import anchor_slice


class Link(NamedTuple):
    """One row of the page."""

    name: str
    target: str
    until: str


Contents = dict[str, bytes]


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the files and hand them in."""
    play(api, instruction, wait)


def urgent_first(links: list[Link]) -> list[Link]:
    """By the instant at which each link ends."""
    return sorted(links, key=lambda link: instant(link.until))


def instant(until: str) -> datetime:
    """The instant that a text names, in whichever notation."""
    if until.isdigit():
        return datetime.fromtimestamp(int(until), UTC)
    return parsedate_to_datetime(until) if until.endswith("GMT") else datetime.fromisoformat(until)


def headers_for(part: str, token: str, name: str, first: str) -> dict[str, str]:
    """What a download carries; `first` is the file that was downloaded first, which is nobody's concern."""
    return {"X-Flow-Token": token, "X-Seed-Anchor": part, "X-Contract-Proof": f"{part}:{token[-8:]}:{name}"}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    session: bool = True,
    page_first: bool = False,
    linger: tuple[str, float] = ("", 0),
    order: Callable[[list[Link]], list[Link]] = urgent_first,
    mangle: Callable[[str], str] = lambda target: target,
    headers: Callable[[str, str, str, str], dict[str, str]] = headers_for,
    shift: int = 0,
    join: Callable[[list[Link], Contents], bytes] = lambda links, got: b"".join(got[link.name] for link in links),
) -> None:
    """The whole flow, with seams; `linger` waits before a place (page, downloads, second)."""
    if page_first:
        api.get("/task")
    token = api.get("/api/session").json()["flow_token"] if session else "none-yet"
    if linger[0] == "page":
        wait(linger[1])
    links = read_page(api.get("/task").text)
    part, got = anchor_slice(instruction, shift), {}
    plan = order(links)
    for number, link in enumerate(plan):
        if linger[0] == ("downloads", "second")[min(number, 1)] and number < 2:
            wait(linger[1])
        answer = api.get(mangle(link.target), headers=headers(part, token, link.name, plan[0].name))
        got[link.name] = answer.raise_for_status().content
    api.post("/submission", content=join(links, got))


def read_page(page: str) -> list[Link]:
    """Every row of the page, in its order."""
    rows = re.findall(r'<li><a href="([^"]+)">(\w+)</a> until <time>([^<]+)</time>', page)
    return [Link(name, html.unescape(href), until) for href, name, until in rows]
