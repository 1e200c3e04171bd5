"""A standard cookie jar does it all; only the proof looks into it, for the session as it is at the end."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Pairs = list[tuple[str, str]]
"""Cookies of one request: name and value."""

STEP, COMPLETE = "/api/workflow/step", "/api/workflow/complete"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Go through the workflow and hand in the receipt."""
    play(api, instruction, wait)


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    `edit` gets the cookies that the jar would send and all that it ever sent, oldest first; `look`, how often to look at the
    session, and `linger` get the number of the request, 0 for the first step, and its cookies; `proof_of` all ids so far. The
    request with the pass comes `spare` seconds before that counts, where it does not count at once.
    """

    starts: int = 1
    plan: Callable[[list[int]], list[int]] = lambda steps: steps
    edit: Callable[[Pairs, Pairs], Pairs] = lambda pairs, seen: pairs
    look: Callable[[int, Pairs], int] = lambda number, pairs: 0
    linger: Callable[[int, Pairs], float] = lambda number, pairs: 0
    proof_of: Callable[[list[str]], str] = lambda ids: ids[-1]
    head: Callable[[dict[str, str]], dict[str, str]] = lambda headers: headers
    shift: int = 0
    spare: float = 0
    hand_in: Callable[[str, list[str]], str] = lambda receipt, ids: receipt


@dataclass
class Jar:
    """Sends the requests of a session with the cookies that the client's jar has for them, each when it counts."""

    api: httpx.Client
    wait: Wait
    habits: Habits
    cost: float
    idle: float
    opens: float = 0
    now: float = 0
    seen: Pairs = field(default_factory=list)
    ids: list[str] = field(default_factory=lambda: [""])

    def send(self, method: str, path: str, headers: dict[str, str], number: int) -> httpx.Response:
        """The answer to one request."""
        request = self.api.build_request(method, path, headers=headers)
        pairs = [read_pair(pair) for pair in request.headers.get("Cookie", "").split("; ") if pair]
        self.seen.extend(pairs)
        if len(pairs) > 2:
            self.settle()
        for _ in range(self.habits.look(number, pairs)):
            self.read(self.api.get("/api/session"))
        if seconds := self.habits.linger(number, pairs):
            self.wait(seconds)
        request.headers.pop("Cookie", None)
        if edited := self.habits.edit(pairs, self.seen):
            request.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in edited)
        return self.read(self.api.send(request))

    def settle(self) -> None:
        """Wait until the pass counts when the next request is answered, and look at the session so that it lives till then."""
        while (left := self.opens - self.cost - self.now) > 0:
            rests = left + self.cost < self.idle
            if seconds := left if rests else min(left - self.cost, self.idle - self.cost - 1):
                self.wait(seconds)
            if rests:
                return
            self.read(self.api.get("/api/session"))

    def read(self, answer: httpx.Response) -> httpx.Response:
        """An answer, with time, session and the time from which a pass counts kept; a refusal raises."""
        self.now = float(answer.raise_for_status().headers["X-Virtual-Time"])
        for seconds in answer.json().get("honoured_from", {}).values():
            self.opens = self.now + seconds - self.habits.spare
        self.ids.append(self.api.cookies.get("session", "").partition(".")[0])
        return answer


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    habits = Habits(**changed)
    jar = Jar(api, wait, habits, *(told(instruction, words) for words in ("request takes", "is over once")))
    for _ in range(habits.starts):
        jar.read(api.post("/api/session/start"))
    for number, step in enumerate(habits.plan(list(range(1, steps(instruction) + 1)))):
        jar.send("GET", f"{STEP}/{step}", {}, number)
    part = anchor_slice(instruction, habits.shift)
    headers = {"X-Seed-Anchor": part, "X-Seed-Proof": f"{part}:{habits.proof_of(jar.ids)[-8:]}"}
    receipt = jar.send("POST", COMPLETE, habits.head(headers), -1).json()["receipt"]
    api.post("/submission", content=habits.hand_in(receipt, jar.ids))


def read_pair(text: str) -> tuple[str, str]:
    """Name and value of one cookie."""
    name, _, value = text.partition("=")
    return name, value


def steps(instruction: str) -> int:
    """How many steps there are."""
    found = re.search(r"a workflow of (\d+) steps", instruction)
    assert found
    return int(found[1])


def told(instruction: str, words: str) -> float:
    """The seconds that the instruction tells after these words."""
    (seconds,) = re.findall(rf"{words} (\d+) seconds", " ".join(instruction.split()))
    return float(seconds)
