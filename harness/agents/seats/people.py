"""People at seats, and protocols for reaching them: a desk where they answer turns, and a chat room for free discussion.

A desk is the terminal of this process, or web pages served by a host. Seats of a game use only these protocols.
Response times are recorded and count against no budget. A person who leaves forfeits this turn and later ones as `declined`,
a late answer only its turn, as `timeout`; without a name, a person is `anonymous`, or has an id from the desk.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.agents.seats.holders import Forfeit, SeatHolder, SeatReply
from harness.agents.trajectory import Trajectory
from harness.live_agent import Agent
from harness.records import SeatResult
from worlds.core.turns import OpenTurn

ANONYMOUS = "anonymous"


class Late(Exception):
    """Missing answer of a person; the message contains the time limit."""


@dataclass
class SeatedPerson:
    """Person at one seat, as seen by a desk."""

    seat: int
    name: str
    rules: str

    @property
    def called(self) -> str:
        """Name by which the desk addresses the person."""
        return f"seat {self.seat}" + (f", {self.name}" if self.name and self.name != ANONYMOUS else "")


class ChatRoom(Protocol):
    """Room for free discussion, with messages in the order in which they were sent."""

    def open(self, minutes: int) -> None:
        """Open the discussion for this many minutes of the chat room's clock."""
        ...

    def heard(self, wait_s: float) -> tuple[int, str | None] | None:
        """Return the seat and text of the next message; the text is None if the person left.

        Return None after `wait_s` real seconds.
        """
        ...

    @property
    def closed(self) -> bool:
        """True if the time is up and every message sent in time was received."""
        ...

    def show(self, seat: int, text: str, *, is_last: bool) -> None:
        """Show all players a message that the game accepted. After its last message, a seat can send no more."""
        ...

    def close(self) -> None:
        """Close the discussion."""
        ...


class PeopleDesk(Protocol):
    """Place where people answer turns."""

    @property
    def beside(self) -> bool:
        """True if people here are asked at the same time."""
        ...

    @property
    def alone(self) -> Agent | None:
        """Agent with which a person here plays tasks without seats; None if this is not supported."""
        ...

    @property
    def held(self) -> AbstractContextManager[object]:
        """Context of one game. If people here can play only one game at a time, other games wait until it is left."""
        ...

    @property
    def chat(self) -> ChatRoom | None:
        """Room for free discussion; None if this desk has none."""
        ...

    def check(self) -> None:
        """Raise UsageError if no person can take part."""
        ...

    def sit(self, sitter: SeatedPerson) -> None:
        """Start a game for this person."""
        ...

    def ask(self, sitter: SeatedPerson, turn: OpenTurn) -> str | None:
        """Return the person's reply; None if they left for good. Raises Late."""
        ...

    def done(self, sitter: SeatedPerson) -> None:
        """End this person's game."""
        ...


class PersonSeat(SeatHolder):
    """Seat that a person holds."""

    kind = "human"

    def __init__(self, sitter: SeatedPerson, desk: PeopleDesk, trajectory: Trajectory | None = None) -> None:
        super().__init__(sitter.seat, sitter.name or ANONYMOUS, trajectory)
        self.beside = desk.beside
        self._sitter, self._desk, self._left = sitter, desk, False
        desk.sit(sitter)

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the person's reply."""
        if self._left:
            return Forfeit("declined", "the person left")
        asked = time.monotonic()
        try:
            said = self._desk.ask(self._sitter, turn)
        except Late as late:
            return Forfeit("timeout", str(late), time.monotonic() - asked)
        took = time.monotonic() - asked
        self._left = said is None
        return Forfeit("declined", "the person left", took) if said is None else SeatReply(said, latency_s=took, waited_s=took)

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Record the reply and its time."""
        self.latencies_s.append(round(reply.latency_s, 4))
        super().keep(turn, reply)

    def result(self) -> SeatResult:
        """Return the person's name or id, and the response times."""
        self._desk.done(self._sitter)
        # a person on a page says who they are when they join, which is after the game has begun
        self.name = self._sitter.name or ANONYMOUS
        return super().result()
