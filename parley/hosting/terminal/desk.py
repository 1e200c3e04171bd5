"""Desk for people at the terminal of this process: it shows a seat's messages and reads the person's replies.

1. A reply is one entry of the terminal. `/rules` shows the seat's rules again, `/pass` sends an empty reply, `/quit` leaves the
game: this turn and all later ones of the seat are forfeited as `declined`.
2. A reply that the game rejects is followed by a new turn that states the broken rule, exactly as for a model.
3. The seat of each turn is announced, because several people may share a terminal. Earlier output stays on the screen.
"""

from __future__ import annotations

from functools import cache

from harness.agents.seats.people import SeatedPerson
from harness.agents.turns import is_too_long
from parley.hosting.terminal.agent import HumanAgent
from parley.hosting.terminal.terminal import QUIT, RULES, Terminal
from worlds.core.turns import OpenTurn

HELP = "An empty line or Ctrl-D sends. /rules shows your instruction again, /pass says nothing, /quit leaves for good."


class TerminalDesk:
    """Desk for people at one terminal."""

    beside = False
    """True if people here are asked at the same time."""

    chat = None
    """None, because a terminal has no chat."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self.terminal = terminal or Terminal()
        self.alone = HumanAgent(self.terminal)
        self.held = self.terminal.held

    def check(self) -> None:
        """Raise UsageError without a terminal."""
        self.terminal.check()

    def sit(self, sitter: SeatedPerson) -> None:
        """Show a person the rules of their seat before the first turn."""
        self.terminal.show(f"\n=== {sitter.called}: your instruction ===\n\n{sitter.rules.strip()}\n\n{HELP}")

    def ask(self, sitter: SeatedPerson, turn: OpenTurn) -> str | None:
        """Return the text that the person types for a turn; None if they leave."""
        again = f", attempt {turn.attempt}" if turn.attempt > 1 else ""
        which = f"{turn.phase.lower().replace('_', ' ')}, round {turn.round}" if turn.round else turn.phase.lower()
        self.terminal.show(f"\n--- {sitter.called}: {which.replace('_', ' ')}{again} ---\n\n{turn.text.strip()}\n")
        while True:
            typed = self.terminal.entry()
            if typed == RULES:
                self.terminal.show(f"\n{sitter.rules.strip()}\n")
            elif typed == QUIT:
                self.terminal.show("You left. All further turns of your seat are forfeited.")
                return None
            elif typed == "/pass":
                return ""
            elif typed.startswith("/") and "\n" not in typed and " " not in typed:
                self.terminal.show(f"Unknown command {typed}. {HELP}")
            elif is_too_long(typed):
                self.terminal.show("A reply has at most 1 MiB. Enter it again:")
            else:
                return typed

    def done(self, sitter: SeatedPerson) -> None:
        """Print that a person's game is over."""
        self.terminal.show(f"\n=== {sitter.called}: the game is over. Thank you. ===\n")


@cache
def this_terminal() -> TerminalDesk:
    """Return the desk at the terminal of this process."""
    return TerminalDesk()
