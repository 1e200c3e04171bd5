"""Page, precheck, then the parts by earliest deadline, each link as the page gave it, the token renewed before it ends."""

import html
import re
from collections.abc import Callable

import httpx
from reading import anchor_slice

Link = tuple[int, str, float]
"""Part number, target, life in seconds."""


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def shortest_first(links: list[Link]) -> list[Link]:
    """Earliest deadline first."""
    return sorted(links, key=lambda link: link[2])


def proved(part: str, proof: str) -> dict[str, str]:
    """The headers of a download."""
    return {"X-Seed-Anchor": part, "X-Contract-Proof": proof}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    order: Callable[[list[Link]], list[Link]] = shortest_first,
    precheck: bool = True,
    idle: Callable[[int, float, float], float] = lambda place, token, link: 0,
    renewed: int | None = None,
    mangle: Callable[[str], str] = lambda target: target,
    headers: Callable[[str, str], dict[str, str]] = proved,
    again: bool = False,
    shift: int = 0,
    hand_in: Callable[[bytes, bytes, bytes], bytes] = lambda *parts: b"".join(parts),
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `idle(place, token, link)` is the wait before a download: its place from 0, and the seconds that token and link have left.
    `renewed` is the place before which, after that wait, the precheck is made once more, though the token would do.
    """
    download_s, links = download_seconds(instruction), read_page(api.get("/task").text)
    opened = api.get("/api/precheck") if precheck else None
    started = now = virtual_time(opened) if opened else 0.0
    token = opened.json() if opened else {"precheck_token": "none-yet", "deadline": 0.0}
    if again:
        api.get("/api/precheck")
    part_slice, parts = anchor_slice(instruction, shift), dict[int, bytes]()
    for place, (part, target, life) in enumerate(order(links)):
        if precheck and token["deadline"] - now <= download_s:
            opened = api.get("/api/precheck")
            token, now = opened.json(), virtual_time(opened)
        if (seconds := idle(place, token["deadline"] - now, started + life - now)) > 0:
            wait(seconds)
        if place == renewed:
            token = api.get("/api/precheck").json()
        answer = api.get(mangle(target), headers=headers(part_slice, f"{part_slice}:{token['precheck_token'][-8:]}"))
        parts[part], now = answer.raise_for_status().content, virtual_time(answer)
    api.post("/submission", content=hand_in(parts[1], parts[2], parts[3]))


def download_seconds(instruction: str) -> float:
    """What a download takes."""
    told = re.search(r"every part \((\d+) seconds each\)", instruction)
    assert told
    return float(told[1])


def virtual_time(answer: httpx.Response) -> float:
    """When a request was answered."""
    return float(answer.headers["X-Virtual-Time"])


def read_page(page: str) -> list[Link]:
    """Every link of the page, in its order."""
    rows = re.findall(r'<a id="part-(\d)" href="([^"]+)">[^<]*</a> \((\d+) s\)', page)
    return [(int(part), html.unescape(href), float(life)) for part, href, life in rows]
