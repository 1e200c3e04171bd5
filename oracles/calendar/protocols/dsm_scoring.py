"""Scores, points and plans of DSM.

What a plan costs one seat, as a satisfaction level: the only thing that DSM ever tells about a calendar.

1. A plan puts the round's meeting at a slot and may move earlier meetings; a seat sees of it what touches its own calendar.
2. Meetings that are moved are lifted, and land only where this calendar is free then. What stands in the way of the round's
   meeting after that must be errands that can be moved; anything else makes the plan infeasible.
3. The level is 0 for an infeasible plan and D - 1 for one that moves nothing; it falls by one for each unit of cost, not below
   1 (paper, Appendix D.3). Costs are those on the seat's calendar, so on the scale that is shown.

`trusting` is how the published client reads a plan: a slot that the plan clears counts as free for a meeting to land on, though
another meeting, or a blocked errand, stands there on this very calendar. The reference games show it in chains of two meetings.

The books of DSM: what a scorer pays for its scores, and what it is given back when a plan is chosen. A level s > 0 costs D - 1
- s points. Whose plan was chosen gets R = (D - 1 - s*) + max(0, min(A, L) - 1): what it concedes, and one point for each
further plan that it left open; nothing where it concedes nothing or cannot (paper, Appendix D.3; Farhadi and Jennings 2021).
The books are kept and reported. They move nobody: no client looks at its points when it scores or chooses.

Plans that an initiator can offer: slots of its own, and chains that move earlier meetings out of the way.

1. A slot without a meeting is one plan, and its id is the slot.
2. Where a meeting stands, it may go to a free slot of the initiator's, or to another meeting's slot, which then goes on in the
   same way, up to the cascade depth. Such plans have the ids (slot + 1) * 1000 + place.
3. The chains of a slot are sorted by cost, length and targets, and only the first few count (paper, Table 9).

Slots are where a meeting begins. One that is longer than a slot and would lie across two earlier meetings has no chain there:
chains move meetings one for the other, never two at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from oracles.calendar.protocols.repair import Moves, in_the_way, insertion, price
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
        """Return who has a meeting moved without taking part in the round's."""
        return {seat for shift in self.shifts for seat in shift.participants} - set(participants)


def level(moves: Moves | None) -> int:
    """The satisfaction level of what a plan takes; None is infeasible."""
    return 0 if moves is None else max(1, BEST - price(moves))


def needed(cells: Cells, plan: DsmPlan, me: int, duration: int, *, trusting: bool = False) -> Moves | None:
    """Return what seat `me` moves to carry a plan out, None if it cannot; `duration` is 0 for a seat outside the meeting."""
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


BUDGET = 100
"""Points that every seat begins with."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The record of one scorer in one decision, as the message carries it."""

    selected_score: int
    availability: int
    """A: plans with a level above 0."""

    flexibility: int
    """Sum over levels s of count(s) (A + 1)^s: grows with more plans and with higher levels; reported, not paid."""

    scoring_cost: int
    """Points that its scores cost, all offers of the meeting together."""

    reward: int
    """R."""

    def record(self) -> Mapping[str, int]:
        """The fields of the message."""
        return asdict(self)


def reward(scores: Sequence[int], selected: int) -> Reward:
    """The record for the levels that one seat reported, and its level of the chosen plan."""
    feasible = [score for score in scores if score > 0]
    available = len(feasible)
    flexibility = sum((available + 1) ** score for score in feasible)
    paid = 0 if selected in (0, BEST) else BEST - selected + max(0, min(available, len(scores)) - 1)
    return Reward(selected, available, flexibility, sum(BEST - score for score in feasible), paid)


def settled(points: int, gained: int, paid: int) -> int:
    """A budget after one decision; it never falls below 0."""
    return max(0, points + gained - paid)


Chain = tuple[tuple[Item, Shift], ...]
"""Meetings that move, each with where to; the last one to a free slot."""


def plans(cells: Cells, duration: int, depth: int, targets: int) -> list[DsmPlan]:
    """Every plan that a calendar suggests, feasible or not; `depth` meetings a chain and `targets` chains a slot at most."""
    suggested: list[DsmPlan] = []
    for slot in range(len(cells) - duration + 1):
        span = frozenset(range(slot, slot + duration))
        meetings = [item for _, item in in_the_way(cells, slot, duration) or [] if item.kind == "meeting"]
        if not meetings:
            suggested.append(DsmPlan(slot, slot))
        elif len(meetings) == 1:
            chains = sorted(_chains(cells, meetings[0], span, depth), key=_order)[:targets]
            suggested += [
                DsmPlan((slot + 1) * 1000 + place, slot, tuple(shift for _, shift in chain))
                for place, chain in enumerate(chains)
            ]
    return suggested


def _chains(cells: Cells, item: Item, taken: frozenset[int], depth: int) -> Iterator[Chain]:
    """Every way to move a meeting away, off the `taken` cells."""
    source = cells.index(item)
    taken = taken.union(range(source, source + item.duration))
    for target in range(len(cells) - item.duration + 1):
        span = range(target, target + item.duration)
        there = in_the_way(cells, target, item.duration) or []
        if taken.intersection(span) or len(there) > 1:
            continue
        move = (item, Shift(item.id, source, target, item.participants))
        if not there:
            yield (move,)
        elif depth > 1 and there[0][1].kind == "meeting":
            for rest in _chains(cells, there[0][1], taken.union(span), depth - 1):
                yield (move, *rest)


def _order(chain: Chain) -> tuple[int, int, tuple[int, ...]]:
    return sum(item.cost for item, _ in chain), len(chain), tuple(shift.target for _, shift in chain)
