"""The three steps, then the URL verbatim as the instruction prints it, with a slice of it and the newest flow token."""

import re
from collections.abc import Callable, Sequence

import httpx

STEPS = ("session", "catalog", "preflight")


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Fetch the file and hand it in."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Callable[[float], None],
    *,
    steps: Sequence[str | int] = STEPS,
    mangle: Callable[[str], str] = lambda target: target,
    counted: Callable[[str], str] = lambda target: target,
    shift: int = 0,
    token_of: Callable[[list[str]], str] = lambda tokens: tokens[-1],
    without: str = "",
    hand_in: Callable[[bytes], bytes] = lambda content: content,
) -> None:
    """The whole flow, with seams; a number among the steps is a wait, `token_of` gets every flow token."""
    tokens: list[str] = []
    for step in steps:
        if isinstance(step, int):
            wait(step)
            continue
        answer = api.get(f"/api/{step}").raise_for_status().json()
        if "flow_token" in answer:
            tokens.append(answer["flow_token"])
    target = printed_target(instruction)
    headers = {
        "X-Flow-Token": token_of(tokens or ["none-yet"]),
        "X-URL-Anchor": slice_of(instruction, counted(target), shift),
    }
    headers.pop(without, None)
    content = api.get(mangle(target), headers=headers).raise_for_status().content
    api.post("/submission", content=hand_in(content))


def printed_target(instruction: str) -> str:
    """The text in the fence."""
    found = re.search(r"```\n(/\S+)\n```", instruction)
    assert found
    return found[1]


def slice_of(instruction: str, text: str, shift: int) -> str:
    """The characters that the instruction names, or those `shift` places away."""
    found = re.search(r"characters (\d+) to (\d+) of the text above", instruction)
    assert found
    return text[int(found[1]) - 1 + shift : int(found[2]) + shift]
