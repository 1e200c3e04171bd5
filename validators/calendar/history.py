"""Result of rebuilding a game: messages, committed batches, resolved rounds, final calendars, and the lies of the log.

All of it is data. Costs are on the scale that agents see; `scored_cost` converts them to the scored scale.
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
    """Sequence number of its event."""

    round: int
    sweep: int
    sender: int
    to: tuple[int, ...]
    """All recipients."""

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
    """False if a failed round was reverted, together with the batch's cost."""

    success: bool
    """True if its round succeeded."""

    turn: int
    """Log number of the turn that sent it."""


class Touch(NamedTuple):
    """A refused batch: its seat, its turn, and whether it touched a blocked item."""

    seat: int
    turn: int
    is_blocked: bool


class MovedMeeting(NamedTuple):
    """An earlier meeting that is no longer scheduled."""

    meeting: int
    stood: int
    """Last slot in which all its calendars agreed."""

    slots: Slots
    turns: Mapping[int, int]
    """Seat -> the turn in which it last moved the meeting."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Outcome of one round."""

    number: int
    meeting: Meeting
    label: Label
    slots: Slots
    standing: dict[int, int]
    """Scheduled meetings, with their slots."""

    broken: tuple[int, ...]
    kept: bool
    refused: int
    """Number of batches that were refused in this round."""

    blocked: int
    """Number of these that touched a blocked item (reason B of the paper's Figure 5, even if a retry succeeded)."""

    calendars: tuple[Cells, ...]
    """Calendar of each seat after the round; a failed round is already reverted if the settings say so."""

    faults: tuple[SeatFault, ...] = ()
    """Seats that lost the round, if the rules tell."""

    @property
    def is_scheduled(self) -> bool:
        """True if the round's meeting counts as scheduled."""
        return self.label is Label.SUCCESS


class Reflected(NamedTuple):
    """Answer of one seat to the question on what it believes of another's calendar."""

    round: int
    observer: int
    target: int
    scores: tuple[int, ...] | None
    """Score for each slot, -3 to 3; None if the answer is missing or unreadable."""

    how: str
    """Way in which the reply was read: `strict`, `fenced`, `repaired`, or `failed`."""

    no_reply: str | None
    """Cause of a missing reply; `declined` if a program holds the seat, so that the question was not put."""

    expected: tuple[float, ...] | None = None
    """Expected score for each slot over the model's tokens, if known."""


@dataclass(frozen=True)
class Replay:
    """A game as the rules say it went."""

    scenario: Scenario
    settings: Settings
    resolved: tuple[Resolved, ...]
    """Rounds in order; rounds that were never resolved are missing."""

    messages: tuple[Delivered, ...]
    committed: tuple[Committed, ...]
    calendars: tuple[Cells, ...]
    """Calendars at the end."""

    finished: bool
    """True if the log contains the whole game."""

    lies: tuple[str, ...]
    """Claims of the log that contradict the rules, each with its event."""

    reflected: tuple[Reflected, ...] = ()
    """All answers on beliefs, in the order of the log, if they were asked for."""

    @property
    def scheduled_meetings(self) -> tuple[int, ...]:
        """The meetings whose round succeeded, ascending."""
        return tuple(sorted(round_.meeting.id for round_ in self.resolved if round_.is_scheduled))

    @property
    def calendars_at_start(self) -> dict[int, tuple[Cells, ...]]:
        """Calendars of all seats during the talk of each round, which are those at the end of the previous round."""
        ends = {one.number: one.calendars for one in self.resolved}
        made = {1: self.scenario.calendars}
        for number in range(2, len(self.scenario.meetings) + 1):
            made[number] = ends.get(number - 1, made[number - 1])
        return made

    def scored_cost(self, one: Committed) -> int:
        """Return the cost of a batch on the scored scale: the sum over its moved items."""
        return sum(self.scenario.scored_cost(move.item.cost) for move in one.batch.moves)
