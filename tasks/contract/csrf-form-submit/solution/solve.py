"""Page, precheck, submit, result, straight on: the token unescaped from HTML, both fields encoded for the form."""

import html
import re
from collections.abc import Callable, Sequence
from urllib.parse import urlencode

import httpx
from reading import anchor_slice

FORM = "application/x-www-form-urlencoded"
Fields = dict[str, str]


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Submit the comment and hand in the receipt."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    steps: Sequence[str] = ("page", "precheck", "submit", "result"),
    linger: tuple[str, float] = ("", 0),
    patient: bool = True,
    token_of: Callable[[list[str]], str] = lambda pages: hidden_value(pages[-1]),
    edit: Callable[[Fields], Fields] = lambda fields: fields,
    encode: Callable[[Fields], str] = urlencode,
    kind: str = FORM,
    anchor: bool = True,
    shift: int = 0,
    hand_in: Callable[[httpx.Response], str] = lambda result: result.json()["receipt"],
) -> None:
    """The whole flow, with seams; `linger` waits before a step, `token_of` gets every page that was loaded."""
    pages: list[str] = []
    answer = None
    for step in steps:
        if step == linger[0]:
            wait(linger[1])
        if step == "precheck" and pages and patient and (seconds := least(instruction)):
            # precheck and submit take 2 s each, and the precheck is to be young
            wait(seconds - 4)
        if step == "page":
            pages.append(api.get("/task").text)
        elif step == "submit":
            body = encode(edit({"csrf_token": token_of(pages), "comment": comment(instruction)}))
            headers = {"Content-Type": kind, **({"X-Seed-Anchor": anchor_slice(instruction, shift)} if anchor else {})}
            answer = api.post("/api/submit", content=body.encode(), headers=headers)
        else:
            answer = api.get(f"/api/{step}")
    assert answer is not None
    api.post("/submission", content=hand_in(answer.raise_for_status()))


def least(instruction: str) -> float:
    """How many seconds old a form must be when it is submitted."""
    told = re.search(r"sooner than (\d+) seconds after its page", instruction)
    return float(told[1]) if told else 0


def raw_value(page: str) -> str:
    """The hidden field's value as the page's source has it."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert found
    return found[1]


def hidden_value(page: str) -> str:
    """The hidden field's value as HTML defines it: character references resolved."""
    return html.unescape(raw_value(page))


def comment(instruction: str) -> str:
    """The comment, which stands in its own fence."""
    found = re.search(r"The comment:\n\n```\n(.+)\n```\n", instruction)
    assert found
    return found[1]
