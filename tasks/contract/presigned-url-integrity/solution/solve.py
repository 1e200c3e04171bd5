"""Nothing parses the link on its way: the page's href, unescaped once, is the request target."""

import re
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser

import httpx
from reading import anchor_slice

BUSY_S = 13
"""What a precheck and the download after it take."""

DATE = re.compile(r"\w{3}, \d\d \w{3} \d{4} [0-9:]{8} GMT")


class DownloadLink(HTMLParser):
    """Finds the href of the download link; the parser resolves character references."""

    href = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        given = dict(attrs)
        if given.get("id") == "download":
            self.href = given.get("href") or ""


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    rewrite: Callable[[str], str] = lambda query: query,
    idle_before: Callable[[float, float], float] = lambda opens, ends: opens - BUSY_S,
    idle_after: Callable[[float], float] = lambda left: 0,
    skip: str = "",
    sequel: Sequence[str] = (),
    looks: int = 1,
    offset: int = 0,
    separator: str = ":",
    deliver: Callable[[str], str] = lambda file: file,
) -> None:
    """The whole flow, with seams: `rewrite` is what a client makes of the query, `skip` names a step or header left out.

    `idle_before` gets the seconds until the link works, and until it does no more; `looks` says how often the page is loaded,
    `sequel` what is requested between precheck and download, and `idle_after` gets the seconds that are left before that.
    """
    parser = DownloadLink()
    page = [api.get("/task") for _ in range(looks)][-1]
    parser.feed(page.text)
    path, _, query = parser.href.partition("?")
    if (seconds := idle_before(*window(page))) > 0:
        wait(seconds)
    token = "" if skip == "precheck" else precheck(api, wait, idle_after)
    for other in sequel:
        api.get(other)
    part = anchor_slice(instruction, offset)
    headers = {"X-Seed-Anchor": part, "X-Contract-Proof": f"{part}{separator}{token[-8:]}"}
    headers.pop(skip, None)
    file = api.get(f"{path}?{rewrite(query)}", headers=headers).raise_for_status()
    api.post("/submission", content=deliver(file.text))


def window(page: httpx.Response) -> list[float]:
    """The seconds from a page until its link works, and until it does no more."""
    now = parsedate_to_datetime(page.headers["Date"])
    return [(parsedate_to_datetime(date) - now).total_seconds() for date in DATE.findall(page.text)]


def precheck(api: httpx.Client, wait: Callable[[float], None], idle: Callable[[float], float]) -> str:
    """A precheck token, and the idle time after it."""
    answer = api.get("/api/precheck")
    if seconds := idle(answer.json()["deadline"] - float(answer.headers["X-Virtual-Time"])):
        wait(seconds)
    token: str = answer.json()["precheck_token"]
    return token
