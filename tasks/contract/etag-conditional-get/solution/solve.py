"""Read how long the version stays, begin with one that stays long enough, and write under its tag before it is gone."""

import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Document = dict[str, Any]
TOKEN = "X-Confirmation-Token"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Write the document, confirm it and hand in the confirmation."""
    play(api, instruction, wait)


def last(given: list[Any]) -> Any:
    """What was given last is what counts."""
    return given[-1]


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    hasty: bool = False,
    early: bool = False,
    condition: Callable[[str], str] = lambda tag: tag,
    checks: int = 1,
    write: bool = True,
    match: Callable[[list[str]], dict[str, str]] = lambda tags: {"If-Match": tags[-1]},
    based_on: Callable[[list[Document]], Document] = last,
    edit: Callable[[Document, str], Document] = lambda document, state: {**document, "state": state},
    linger: tuple[str, float] = ("", 0),
    show: Callable[[list[str]], dict[str, str]] = lambda tokens: {TOKEN: tokens[-1]},
    anchor: Callable[[str], dict[str, str]] = lambda part: {"X-Seed-Anchor": part},
    shift: int = 0,
    hand_in: Callable[[str, list[str]], str] = lambda confirmation, tokens: confirmation,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `checks` is how many 304 answers are asked for, `linger` waits before a step; an `early` client asks for the first at once.
    """
    state, tags, documents, tokens = new_state(instruction), [], [], []

    def read(headers: dict[str, str]) -> httpx.Response:
        answer = api.get("/api/resource", headers=headers)
        if answer.status_code == 304:
            tokens.append(answer.headers[TOKEN])
        else:
            documents.append(answer.raise_for_status().json())
            tags.append(answer.headers["ETag"])
        return answer

    newest = read({})
    if early:
        newest = read({"If-None-Match": condition(tags[-1])})
    if not hasty and (stays := max_age(newest)) <= 2 * cost(instruction):
        wait(stays)
        read({})
    while len(tokens) < checks:
        read({"If-None-Match": condition(tags[-1])})
    if linger[0] == "write":
        wait(linger[1])
    if write:
        body = edit(based_on(documents), state)
        api.put("/api/resource", headers=match(tags), json=body).raise_for_status()
    if linger[0] == "confirm":
        wait(linger[1])
    headers = {**show(tokens), **anchor(anchor_slice(instruction, shift))}
    confirmation = api.get("/api/confirm", headers=headers).raise_for_status().json()["confirmation"]
    api.post("/submission", content=hand_in(confirmation, tokens))


def max_age(answer: httpx.Response) -> int:
    """For how many seconds the version stays."""
    return int(answer.headers["Cache-Control"].removeprefix("max-age="))


def new_state(instruction: str) -> str:
    """The state to write."""
    found = re.search(r"Set its `state` to `(\w+)`", instruction)
    assert found
    return found[1]


def cost(instruction: str) -> int:
    """The seconds that a request takes."""
    found = re.search(r"steps 1 to 4 takes (\d+) seconds", instruction)
    assert found
    return int(found[1])
