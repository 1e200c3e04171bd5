"""Protocols for reaching people: a desk where they answer turns, and a chat room for free discussion.

A desk is the terminal of this process, or web pages served by a host. Seats of a game use only these protocols.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.live_agent import Agent
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
