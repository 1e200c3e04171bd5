"""The fragments exactly as the instruction prints them, joined in the order that the steps tell, and used at once."""

import re
from collections.abc import Callable, Sequence

import httpx

Order = Callable[[str, str, str], str]
"""The letters as they are joined, given them by place, by step and as shown."""


FILE = 0
"""The place of the request for the file among the steps."""


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def headers_for(nonce: str, part: str) -> dict[str, str]:
    """What the request for the file carries."""
    return {"X-Flow-Nonce": nonce, "X-URL-Anchor": part, "X-Assembly-Proof": f"{nonce[-8:]}:{part}"}


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    steps: Callable[[int], Sequence[int]] = lambda last: range(1, last + 1),
    linger: tuple[int, float] = (-1, 0),
    order: Order = lambda placed, told, shown: placed,
    separator: str = "",
    mangle: Callable[[str], str] = lambda query: query,
    anchored: Callable[[str, str], str] = lambda head, joined: joined,
    shift: int = 0,
    headers: Callable[[str, str], dict[str, str]] = headers_for,
    hand_in: Callable[[bytes], bytes] = lambda content: content,
) -> None:
    """The whole flow, with seams; `linger` waits before a step, `FILE` being the request for the file."""
    fragments = read_fragments(instruction)
    told, nonce = {}, "none-yet"
    for step in steps(len(fragments)):
        if step == linger[0]:
            wait(linger[1])
        assembly = api.get(f"/api/step/{step}").raise_for_status().json()["assembly"]
        told[assembly["place"]] = assembly["fragment"]
        nonce = assembly.get("flow_nonce", nonce)
    placed = "".join(told.get(place, "") for place in range(1, len(fragments) + 1)) or "".join(fragments)
    letters = order(placed, "".join(told.values()), "".join(fragments))
    (head, tail), joined = ends_of(instruction), separator.join(fragments[letter] for letter in letters)
    part = slice_of(instruction, anchored(head, joined), shift)
    if linger[0] == FILE:
        wait(linger[1])
    path, _, query = (head + joined + tail).partition("?")
    answer = api.get(f"{path}?{mangle(query)}", headers=headers(nonce, part)).raise_for_status()
    api.post("/submission", content=hand_in(answer.content))


def read_fragments(instruction: str) -> dict[str, str]:
    """The fragments by letter, in the order in which they are shown."""
    return dict(re.findall(r"Fragment ([A-Z]):\n\n```\n(\S+)\n```", instruction))


def ends_of(instruction: str) -> tuple[str, str]:
    """What stands before the joined text, from the path on, and what stands after it."""
    head = re.search(r"Head:\n\n```\nhttp://api:8080(/\S+)\n```", instruction)
    tail = re.search(r"Tail:\n\n```\n(\S+)\n```", instruction)
    assert head
    assert tail
    return head[1], tail[1]


def slice_of(instruction: str, text: str, shift: int) -> str:
    """The characters that the instruction names, or those `shift` places away."""
    found = re.search(r"characters (\d+) to (\d+) of the joined text", instruction)
    assert found
    return text[int(found[1]) - 1 + shift : int(found[2]) + shift]
