"""The link goes from the page into the request as it is, however long; a precheck comes between, or first where it is slow."""

import html
import re
from collections.abc import Callable

import httpx
from reading import anchor_slice


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def proofs(part: str, token: str) -> dict[str, str]:
    """The two headers of a download."""
    return {"X-Seed-Anchor": part, "X-Contract-Proof": f"{part}:{token[-8:]}"}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    carry: Callable[[str], str] = lambda target: target,
    looks: int = 1,
    seen: int = -1,
    prechecks: int = 1,
    use: int = -1,
    pauses: tuple[float, float] = (0, 0),
    shift: int = 0,
    headers: Callable[[str, str], dict[str, str]] = proofs,
    hand_in: Callable[[str], str] = lambda file: file,
) -> None:
    """The whole flow, with seams: `carry` is what becomes of the target, `pauses` are seconds before and after the precheck.

    `seen` says which of several looks at the page counts, `use` which of several prechecks' tokens goes into the proof.
    """
    target = "" if precheck_first(instruction) else linked(api, looks)[seen]
    pause(wait, pauses[0])
    tokens = [api.get("/api/precheck").json()["precheck_token"] for _ in range(prechecks)] or ["none-yet"]
    pause(wait, pauses[1])
    target = target or linked(api, looks)[seen]
    answer = api.get(carry(target), headers=headers(anchor_slice(instruction, shift), tokens[use]))
    api.post("/submission", content=hand_in(answer.raise_for_status().text))


def precheck_first(instruction: str) -> bool:
    """Whether the link would not outlive a precheck."""
    slow = re.search(r"the precheck, which takes (\d+)\.", instruction)
    life = re.search(r"works: (\d+) seconds at the\s+most", instruction)
    return slow is not None and life is not None and float(slow[1]) >= float(life[1])


def linked(api: httpx.Client, looks: int) -> list[str]:
    """The target of the page's link, at so many looks."""
    pages = "".join(api.get("/task").raise_for_status().text for _ in range(looks))
    return [html.unescape(href) for href in re.findall(r'<a id="download" href="http://api:8080([^"]+)"', pages)]


def pause(wait: Callable[[float], None], seconds: float) -> None:
    """Wait, if there is anything to wait for."""
    if seconds:
        wait(seconds)
