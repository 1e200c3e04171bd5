"""What a plan costs one seat, as a satisfaction level: the only thing that DSM ever tells about a calendar.

1. A plan puts the round's meeting at a slot and may move earlier meetings; a seat sees of it what touches its own calendar.
2. Meetings that are moved are lifted, and land only where this calendar is free then. What stands in the way of the round's
   meeting after that must be errands that can be moved; anything else makes the plan infeasible.
3. The level is 0 for an infeasible plan and D - 1 for one that moves nothing; it falls by one for each unit of cost, not below
   1 (paper, Appendix D.3). Costs are those on the seat's calendar, so on the scale that is shown.

`trusting` is how the published client reads a plan: a slot that the plan clears counts as free for a meeting to land on, though
another meeting, or a blocked errand, stands there on this very calendar. The reference games show it in chains of two meetings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oracles.calendar.protocols.insertion import Moves, insertion, price
from worlds.calendar.rules.batch import Move
from worlds.calendar.rules.items import Cells, Item, filled, slot_of

LEVELS = 12
"""D: levels are 0..D-1 (paper, Appendix D.3)."""

BEST = LEVELS - 1


class Shift(NamedTuple):
    """One earlier meeting that a plan moves, on all its participants' calendars; slots are where it begins."""

    meeting: int
    source: int
    target: int
    participants: tuple[int, ...]


class DsmPlan(NamedTuple):
    """One candidate: where the round's meeting begins, and which earlier ones make room."""

    id: int
    slot: int
    shifts: tuple[Shift, ...] = ()

    def outsiders(self, participants: Sequence[int]) -> set[int]:
        """Who has a meeting moved without taking part in the round's."""
        return {seat for shift in self.shifts for seat in shift.participants} - set(participants)


def level(moves: Moves | None) -> int:
    """The satisfaction level of what a plan takes; None is infeasible."""
    return 0 if moves is None else max(1, BEST - price(moves))


def needed(cells: Cells, plan: DsmPlan, me: int, duration: int, *, trusting: bool = False) -> Moves | None:
    """What seat `me` moves to carry a plan out, None if it cannot; `duration` is 0 for a seat outside the meeting."""
    landings = [_landing(cells, shift) for shift in plan.shifts if me in shift.participants]
    shifted = [move for move in landings if move]
    lifted = cells
    for move in shifted:
        lifted = filled(lifted, move.source, None, move.item.duration)
    cleared = {shift.source for shift in plan.shifts} if trusting else set()
    landed = _landed(lifted, [move for move in shifted if move.target not in cleared])
    if landed is None or len({move.item.name for move in shifted}) < len(landings):
        return None
    errands = insertion(landed, plan.slot, duration) if duration else ()
    return None if errands is None else (*shifted, *errands)


def _landing(cells: Cells, shift: Shift) -> Move | None:
    """The move of a meeting, None if it does not begin where the plan says or would leave the calendar."""
    if slot_of(cells, shift.meeting) != shift.source:
        return None
    item = cells[shift.source]
    assert isinstance(item, Item)
    return Move(item, shift.source, shift.target) if 0 <= shift.target <= len(cells) - item.duration else None


def _landed(cells: Cells, moves: Sequence[Move]) -> Cells | None:
    """The calendar with meetings at their targets; None where one would land on something."""
    for move in moves:
        if any(cells[move.target : move.target + move.item.duration]):
            return None
        cells = filled(cells, move.target, move.item, move.item.duration)
    return cells
