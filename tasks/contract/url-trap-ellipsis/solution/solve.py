"""The page's link as an HTML parser reads it, a precheck, and the download."""

import html
import re
from collections.abc import Callable

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Headers = dict[str, str]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def section(page: str, name: str) -> str:
    """What the page says of one file."""
    return next(part for part in page.split("<h1>") if part.startswith(f"{name}</h1>"))


def href(page: str) -> str:
    """Where the download link leads: its attribute, with character references resolved."""
    return html.unescape(raw_href(page))


def raw_href(page: str) -> str:
    """The same attribute as it stands in the source."""
    found = re.search(r'<a id="download[^"]*" href="([^"]*)"', page)
    assert found
    return found[1]


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    where: Callable[[str, str], str] = section,
    pick: Callable[[str], str] = href,
    looks: int = 1,
    seen: int = -1,
    precheck: bool = True,
    dawdle: float = 0,
    linger: Callable[[float], float] = lambda left: 0,
    again: bool = False,
    shift: int = 0,
    edit: Callable[[Headers], Headers] = lambda headers: headers,
    hand_in: Callable[[str], str] = lambda file: file,
) -> None:
    """The whole flow, with seams.

    `where` finds the file on the page, `seen` says which of several looks at it counts, `dawdle` waits before the precheck,
    `linger` after it, given the seconds that are left.
    """
    (name,) = re.findall(r"called `([^`]+)`", instruction)
    pages = [api.get("/task").text for _ in range(looks)]
    target = pick(where(pages[seen], name))
    if dawdle:
        wait(dawdle)
    token = "none-yet"
    if precheck:
        answer = api.get("/api/precheck")
        token = answer.json()["precheck_token"]
        if seconds := linger(answer.json()["deadline"] - float(answer.headers["X-Virtual-Time"])):
            wait(seconds)
    if again:
        api.get("/api/precheck")
    part = anchor_slice(instruction, shift)
    headers = edit({"X-Seed-Anchor": part, "X-Contract-Proof": f"{part}:{token[-8:]}"})
    file = api.get(target, headers=headers).raise_for_status().text
    api.post("/submission", content=hand_in(file))
