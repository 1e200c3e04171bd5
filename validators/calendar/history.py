"""What a rebuilt game is: messages, committed batches, resolved rounds, the calendars at the end - and the lies of the log.

All of it is data. Costs are on the scale that agents are shown; `scored` says what they count for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from worlds.calendar.labels import Label
from worlds.calendar.rules.batch import Batch
from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.resolution import Slots
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.faults import SeatFault


class Delivered(NamedTuple):
    """One delivered message."""

    seq: int
    """Of its event."""

    round: int
    sweep: int
    sender: int
    to: tuple[int, ...]
    """Everybody who received it."""

    channel: str
    meeting: int
    """The round's meeting."""

    content: str


class Committed(NamedTuple):
    """One batch that was applied to one seat's calendar."""

    round: int
    seat: int
    batch: Batch
    stands: bool
    """False where a failed round was undone, and its cost with it."""

    success: bool
    """Whether its round succeeded."""

    turn: int
    """Number in the log of the turn that sent it."""


class Touch(NamedTuple):
    """A batch that was refused: its seat, its turn, and whether it touched a blocked item."""

    seat: int
    turn: int
    is_blocked: bool


class MovedMeeting(NamedTuple):
    """An earlier meeting that does not stand any more."""

    meeting: int
    stood: int
    """Its slot on all its calendars, when it stood last."""

    slots: Slots
    turns: Mapping[int, int]
    """Seat -> the turn in which it moved the meeting last."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of one round."""

    number: int
    meeting: Meeting
    label: Label
    slots: Slots
    standing: dict[int, int]
    """Meetings that stand, with their slots."""

    broken: tuple[int, ...]
    kept: bool
    refused: int
    """Batches that were refused in this round."""

    blocked: int
    """Of these, how many touched a blocked item (failure reason B of the paper's Figure 5, even where it was mended)."""

    calendars: tuple[Cells, ...]
    """By seat, when the round was over: without what a failed one left, where that is undone."""

    faults: tuple[SeatFault, ...] = ()
    """Which seats lost it, where the rules say it."""

    @property
    def success(self) -> bool:
        """Whether the round's meeting counts as scheduled."""
        return self.label is Label.SUCCESS


class Reflected(NamedTuple):
    """What one seat answered when it was asked what it came to believe of another's calendar."""

    round: int
    observer: int
    target: int
    scores: tuple[int, ...] | None
    """By slot, -3 to 3; None where nothing could be read, or nothing was answered."""

    how: str
    """How the reply was read: `strict`, `fenced`, `repaired`, or `failed`."""

    no_reply: str | None
    """Why there is none; `declined` where a program holds the seat, so that nobody was asked."""

    expected: tuple[float, ...] | None = None
    """By slot, the mean over what a model's tokens could have been, where it is known."""


@dataclass(frozen=True)
class Replay:
    """A game as the rules say it went."""

    scenario: Scenario
    settings: Settings
    resolved: tuple[Resolved, ...]
    """In order; rounds that were never resolved are missing."""

    messages: tuple[Delivered, ...]
    committed: tuple[Committed, ...]
    calendars: tuple[Cells, ...]
    """At the end."""

    finished: bool
    """Whether the log tells the game to its end."""

    lies: tuple[str, ...]
    """What the log claims and the rules contradict, each with the event where it stands."""

    reflected: tuple[Reflected, ...] = ()
    """Where beliefs were asked for, every answer, in the order of the log."""

    @property
    def scheduled(self) -> tuple[int, ...]:
        """The meetings whose round succeeded, ascending."""
        return tuple(sorted(round_.meeting.id for round_ in self.resolved if round_.success))

    @property
    def beginnings(self) -> dict[int, tuple[Cells, ...]]:
        """Every seat's calendar while a round was talked about: at the end of the round before it."""
        ends = {one.number: one.calendars for one in self.resolved}
        made = {1: self.scenario.calendars}
        for number in range(2, len(self.scenario.meetings) + 1):
            made[number] = ends.get(number - 1, made[number - 1])
        return made

    def scored(self, one: Committed) -> int:
        """What a batch counts for: each moved item's shown cost, mapped to the scored scale."""
        return sum(self.scenario.scored(move.item.cost) for move in one.batch.moves)
