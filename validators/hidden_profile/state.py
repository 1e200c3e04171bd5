"""The state of a session while it is rebuilt: who said what so far, and what each seat is to read next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from validators.hidden_profile.history import Spoken, Stance, Vote
from validators.hidden_profile.reading import Opening
from validators.tape import Tape
from worlds.core.events import Turned
from worlds.hidden_profile.rules.speech import publish

Shown = tuple[int, str]
"""Seat, and the text of a message as the others are shown it."""


@dataclass
class SessionState:
    """One session on its way."""

    opening: Opening
    tape: Tape
    barrier: int = 0
    """Groups of turns that were open together, so far."""

    before: tuple[Vote, ...] | None = None
    after: tuple[Vote, ...] | None = None
    turns: list[Spoken] = field(default_factory=list)
    messages: list[Shown] = field(default_factory=list)
    public: dict[str, str] = field(default_factory=dict)
    """Handle that everybody knows -> fact, on the structured track."""

    stances: dict[int, str] = field(default_factory=dict)
    """By seat, what it said last on the structured track."""

    stood: list[Stance] = field(default_factory=list)
    own: dict[int, list[str]] = field(default_factory=dict)
    """By seat, the words of its votes: they may stand in its texts whatever they are."""

    notices: dict[int, str] = field(default_factory=dict)
    """By seat, the line that must say what of its last reply in talk was not read."""

    last_round: int = 0
    """How many messages there were before the round that was opened last."""

    reminders: dict[int, str] = field(default_factory=dict)
    early_stop: int | None = None

    def read_by(self, seat: int) -> list[Shown]:
        """The latest message of each other seat, oldest first; everything where all is to be heard."""
        if self.opening.settings.heard == "all":
            return list(self.messages)
        latest: dict[int, Shown] = {}
        for speaker, text in self.messages:
            latest.pop(speaker, None)
            latest[speaker] = (speaker, text)
        return [shown for speaker, shown in latest.items() if speaker != seat]

    def repeated(self) -> list[Shown]:
        """What the last vote repeats of the talk."""
        return self.messages if self.opening.settings.vote_view == "all" else self.messages[self.last_round :]

    def handles(self, seat: int) -> dict[str, str]:
        """The handles that a seat may cite by: its own facts' in the order shown, and those that everybody knows."""
        own = {f"F{place}": fact for place, fact in enumerate(self.opening.hands[seat], start=1)}
        return own | self.public

    def publish(self, cites: Sequence[str]) -> str:
        """What follows a message that cites."""
        return publish(self.opening.scenario, self.public, cites)

    def named(self, turn: Turned) -> None:
        """Check the name of a turn: barrier, seat, attempt."""
        if turn.turn != (name := f"{self.barrier}-{turn.seat}-{turn.attempt}"):
            self.tape.lie(turn, f"the turn is named {turn.turn[:40]!r}, it is {name}")

    def heard_own(self, seat: int, *words: str) -> None:
        """Note a seat's own words."""
        self.own.setdefault(seat, []).extend(words)
