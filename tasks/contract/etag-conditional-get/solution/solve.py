"""Read how long the version stays, begin with one that stays long enough, and write under its tag before it is gone."""

import re
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    `checks` is how many 304 answers are asked for, `linger` waits before a step; an `early` client asks for the first at once.
    """

    hasty: bool = False
    early: bool = False
    condition: Callable[[str], str] = lambda tag: tag
    checks: int = 1
    writes: int = 1
    match: Callable[[list[str]], dict[str, str]] = lambda tags: {"If-Match": tags[-1]}
    based_on: Callable[[list[Document]], Document] = last
    edit: Callable[[Document, str], Document] = lambda document, state: {**document, "state": state}
    linger: tuple[str, float] = ("", 0)
    show: Callable[[list[str]], dict[str, str]] = lambda tokens: {TOKEN: tokens[-1]}
    anchor: Callable[[str], dict[str, str]] = lambda part: {"X-Seed-Anchor": part}
    shift: int = 0
    hand_in: Callable[[str, list[str]], str] = lambda confirmation, tokens: confirmation


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    Writer(api, instruction, wait, Habits(**changed)).work()


class Writer:
    """Keeps every tag, document and token that it is given."""

    def __init__(self, api: httpx.Client, instruction: str, wait: Wait, habits: Habits) -> None:
        self.api, self.instruction, self.wait, self.habits = api, instruction, wait, habits
        self.tags: list[str] = []
        self.documents: list[Document] = []
        self.tokens: list[str] = []

    def work(self) -> None:
        """Every step; the token before the write, or after it where it would be over by then."""
        newest = self.read({})
        if self.habits.early:
            newest = self.revalidate()
        if not self.habits.hasty and (stays := max_age(newest)) <= 2 * cost(self.instruction):
            self.wait(stays)
            self.read({})
        if self.habits.hasty or lasts(self.instruction) > 2 * cost(self.instruction):
            self.get_tokens()
        self.write()
        self.get_tokens()
        self.confirm()

    def read(self, headers: dict[str, str]) -> httpx.Response:
        """The document, or a token."""
        answer = self.api.get("/api/resource", headers=headers)
        if answer.status_code == 304:
            self.tokens.append(answer.headers[TOKEN])
        else:
            self.keep(answer)
        return answer

    def keep(self, answer: httpx.Response) -> None:
        """A version and its tag."""
        self.documents.append(answer.raise_for_status().json())
        self.tags.append(answer.headers["ETag"])

    def revalidate(self) -> httpx.Response:
        """The answer to whether the newest tag is current."""
        return self.read({"If-None-Match": self.habits.condition(self.tags[-1])})

    def get_tokens(self) -> None:
        """As many as this client wants."""
        while len(self.tokens) < self.habits.checks:
            self.revalidate()

    def write(self) -> None:
        """The document with its new state, under the newest tag."""
        self.pause("write")
        body = self.habits.edit(self.habits.based_on(self.documents), new_state(self.instruction))
        headers = self.habits.match(self.tags)
        for written in [self.api.put("/api/resource", headers=headers, json=body) for _ in range(self.habits.writes)]:
            self.keep(written)

    def confirm(self) -> None:
        """The confirmation, handed in."""
        self.pause("confirm")
        headers = {**self.habits.show(self.tokens), **self.habits.anchor(anchor_slice(self.instruction, self.habits.shift))}
        confirmation = self.api.get("/api/confirm", headers=headers).raise_for_status().json()["confirmation"]
        self.api.post("/submission", content=self.habits.hand_in(confirmation, self.tokens))

    def pause(self, place: str) -> None:
        """Wait where this client does."""
        if self.habits.linger[0] == place:
            self.wait(self.habits.linger[1])


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


def lasts(instruction: str) -> float:
    """The seconds for which a token works."""
    found = re.search(r"works for less than (\S+)\s+seconds", instruction)
    assert found
    return float(found[1])
