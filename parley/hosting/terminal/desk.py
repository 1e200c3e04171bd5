"""Desks, where people answer turns: their protocol, that of a room for free discussion, and the desk at the terminal.

Other desks are web pages served by a host. At the terminal of this process:
1. A reply is one entry of the terminal. `/rules` shows the seat's rules again, `/pass` replies with nothing, `/quit` leaves the
game: this turn and all later ones of the seat are forfeited as `declined`.
2. A reply that the game rejects is followed by a new turn that states the broken rule, exactly as for a model.
3. The seat of each turn is announced, because several people may share a terminal. Earlier output stays on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from harness.agents.turns import is_too_long
from harness.errors import UsageError
from parley.hosting.terminal.terminal import QUIT, RULES, Terminal
from worlds.core.turns import OpenTurn

ANONYMOUS = "anonymous"
HELP = "An empty line or Ctrl-D sends. /rules shows your instruction again, /pass says nothing, /quit leaves for good."


class Late(Exception):
    """Missing answer of a person; the message contains the time limit."""


@dataclass
class Sitter:
    """Person at one seat, as seen by a desk."""

    seat: int
    name: str
    rules: str

    @property
    def called(self) -> str:
        """Form of address for the person."""
        return f"seat {self.seat}" + (f", {self.name}" if self.name and self.name != ANONYMOUS else "")


class ChatRoom(Protocol):
    """Room for free discussion, with messages in the order in which they were sent."""

    def open(self, minutes: int) -> None:
        """Open the discussion for this many minutes of the room's clock."""
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
        """Show a message that the game accepted to all players; after a seat's last message it accepts no more."""
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
    def chat(self) -> ChatRoom | None:
        """Room for free discussion; None if there is none."""
        ...

    def check(self) -> None:
        """Raise UsageError if no person can take part."""
        ...

    def sit(self, sitter: Sitter) -> None:
        """Start a game for this person."""
        ...

    def ask(self, sitter: Sitter, turn: OpenTurn) -> str | None:
        """Return the person's reply; None if they left for good. Raises Late."""
        ...

    def done(self, sitter: Sitter) -> None:
        """End this person's game."""
        ...


class TerminalDesk:
    """Desk for people at one terminal."""

    beside = False
    """True if people here are asked at the same time."""

    chat = None
    """None, because there is no discussion at a terminal."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self.terminal = terminal or Terminal()

    def check(self) -> None:
        """Raise UsageError without a terminal."""
        self.terminal.check()

    def sit(self, sitter: Sitter) -> None:
        """Show a person the rules of their seat before the first turn."""
        self.terminal.show(f"\n=== {sitter.called}: your instruction ===\n\n{sitter.rules.strip()}\n\n{HELP}")

    def ask(self, sitter: Sitter, turn: OpenTurn) -> str | None:
        """Return the text that the person types for a turn; None if they leave."""
        again = f", attempt {turn.attempt}" if turn.attempt > 1 else ""
        which = f"{turn.phase.lower().replace('_', ' ')}, round {turn.round}" if turn.round else turn.phase.lower()
        self.terminal.show(f"\n--- {sitter.called}: {which.replace('_', ' ')}{again} ---\n\n{turn.text.strip()}\n")
        while True:
            typed = self.terminal.entry()
            if typed == RULES:
                self.terminal.show(f"\n{sitter.rules.strip()}\n")
            elif typed == QUIT:
                self.terminal.show("You left. What your seat is still asked is forfeited.")
                return None
            elif typed == "/pass":
                return ""
            elif typed.startswith("/") and "\n" not in typed and " " not in typed:
                self.terminal.show(f"There is no {typed}. {HELP}")
            elif is_too_long(typed):
                self.terminal.show("That is longer than a reply can be (1 MiB). Once more:")
            else:
                return typed

    def done(self, sitter: Sitter) -> None:
        """Print that a person's game is over."""
        self.terminal.show(f"\n=== {sitter.called}: the game is over. Thank you. ===\n")


def refuse_chat() -> UsageError:
    """Return the error for a chat without people on pages and a clock."""
    return UsageError("a free chat needs people on pages and a clock", hint="harness host TASK, or without talk=chat")
