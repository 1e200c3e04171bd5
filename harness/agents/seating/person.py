"""A person at a seat: asked wherever people sit (a desk), and recorded as every other seat is.

1. A `Desk` is how people are reached: the terminal of this process, or pages that a host serves. A seat knows no more of it.
2. What a person takes to answer is recorded and charged to no budget in real time.
3. Who leaves forfeits this turn and all later ones as `declined`; who does not answer in time forfeits the turn as `timeout`.
4. Somebody without a name is recorded as `anonymous`, or by an id that the desk made up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from harness.agent import Usage
from harness.agents.seating.holders import Forfeit, SeatReply, write_down
from harness.agents.trajectory import Trajectory
from harness.records import SeatResult
from worlds.core.turns import OpenTurn

ANONYMOUS = "anonymous"


class Late(Exception):
    """A person did not answer in time; the message says what time that was."""


@dataclass
class Sitter:
    """One person at one seat, as a desk knows them."""

    seat: int
    name: str
    rules: str

    @property
    def called(self) -> str:
        """How the person is addressed."""
        return f"seat {self.seat}" + (f", {self.name}" if self.name and self.name != ANONYMOUS else "")


class ChatRoom(Protocol):
    """Where people talk freely: what they say comes in the order in which they said it."""

    def open(self, minutes: int) -> None:
        """Let people write, for so many minutes by this room's clock."""
        ...

    def heard(self, wait_s: float) -> tuple[int, str | None] | None:
        """The next word: seat and text, or None for one who leaves; None where nothing comes within these real seconds."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the time is up and everything that was said in time was heard."""
        ...

    def show(self, seat: int, text: str) -> None:
        """Put a message that the game took where everybody reads it."""
        ...

    def close(self) -> None:
        """The chat is over."""
        ...


class Desk(Protocol):
    """Where people sit."""

    @property
    def beside(self) -> bool:
        """Whether people here are asked at the same time."""
        ...

    @property
    def chat(self) -> ChatRoom | None:
        """Where they talk freely; None where they cannot."""
        ...

    def check(self) -> None:
        """Raise UsageError where nobody can sit."""
        ...

    def sit(self, sitter: Sitter) -> None:
        """A game begins for this person."""
        ...

    def ask(self, sitter: Sitter, turn: OpenTurn) -> str | None:
        """What they reply; None where they left for good. Raises Late."""
        ...

    def done(self, sitter: Sitter) -> None:
        """Their game is over."""
        ...


class PersonSeat:
    """A seat that a person holds."""

    client = None

    def __init__(self, sitter: Sitter, desk: Desk, trajectory: Trajectory | None = None) -> None:
        self.sitter, self.trajectory, self.usage = sitter, trajectory, Usage()
        self.beside = desk.beside
        self._desk, self._left = desk, False
        self._latencies_s: list[float] = []
        desk.sit(sitter)

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """What the person replies."""
        if self._left:
            return Forfeit("declined", "the person left")
        asked = time.monotonic()
        try:
            said = self._desk.ask(self.sitter, turn)
        except Late as late:
            return Forfeit("timeout", str(late), time.monotonic() - asked)
        if said is None:
            self._left = True
            return Forfeit("declined", "the person left", time.monotonic() - asked)
        took = time.monotonic() - asked
        return SeatReply(said, latency_s=took, waited_s=took)

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Write it down."""
        self._latencies_s.append(round(reply.latency_s, 4))
        write_down(self.trajectory, turn, reply)

    def result(self) -> SeatResult:
        """A name or an id, and how long answers took."""
        self._desk.done(self.sitter)
        return SeatResult(
            seat=self.sitter.seat, kind="human", name=self.sitter.name or ANONYMOUS,
            latency_s=round(sum(self._latencies_s), 4), latencies_s=tuple(self._latencies_s),
        )  # fmt: skip


