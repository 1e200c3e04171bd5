"""How people are reached, whoever asks them: a desk where they sit, and a room where they talk freely.

A desk is the terminal of this process, or pages that a host serves. A seat of a game knows no more of it than this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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

    def show(self, seat: int, text: str, *, is_last: bool) -> None:
        """Put a message that the game took where everybody reads it; after the last one of a seat it takes no more of them."""
        ...

    def close(self) -> None:
        """The chat is over."""
        ...


class PeopleDesk(Protocol):
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
