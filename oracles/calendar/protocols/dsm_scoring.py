"""Scores, points and plans of DSM (paper, Appendix D.3; Farhadi and Jennings 2021).

A satisfaction level is the cost of a plan for one seat, and the only information on a calendar that DSM reveals.
1. A plan puts the round's meeting at a slot and may move earlier meetings; a seat considers only its own calendar.
2. Moved meetings are lifted, and placed only where this calendar is free then. Items still in the way of the round's meeting
must be movable errands; anything else makes the plan infeasible.
3. The level is 0 for an infeasible plan and D - 1 for one that moves nothing; it decreases by one per unit of cost, to at least
1. Costs are those on the seat's calendar, on the shown scale.
With `trusting`, as in the published client, a slot that the plan clears counts as free, although another meeting or a blocked
errand may be there on this calendar. The reference games show it in chains of two meetings.

Points: a level s > 0 costs its scorer D - 1 - s points. If a plan is chosen, a scorer receives R = (D - 1 - s*) + max(0, min(A,
L) - 1): its concession, and one point for each further plan that it accepted; nothing without a concession. Points are recorded
and reported, but never influence a client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from oracles.calendar.protocols.repair import Moves, blocking_items, cost_of_moves, moves_for_insertion
from worlds.calendar.rules.batch import Move
from worlds.calendar.rules.items import Cells, Item, slot_of, with_item

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
    """One candidate: the slot of the round's meeting, and the earlier meetings that make room."""

    id: int
    slot: int
    shifts: tuple[Shift, ...] = ()

    def outsiders(self, participants: Sequence[int]) -> set[int]:
        """Return the seats outside the round's meeting whose meetings are moved."""
        return {seat for shift in self.shifts for seat in shift.participants} - set(participants)


def satisfaction_level(moves: Moves | None) -> int:
    """Return the satisfaction level of a plan's moves; None means infeasible."""
    return 0 if moves is None else max(1, BEST - cost_of_moves(moves))


def required_moves(cells: Cells, plan: DsmPlan, me: int, duration: int, *, trusting: bool = False) -> Moves | None:
    """Return the moves of seat `me` in a plan, None if impossible; `duration` is 0 for a seat outside the meeting."""
    landings = [_landing(cells, shift) for shift in plan.shifts if me in shift.participants]
    shifted = [move for move in landings if move]
    lifted = cells
    for move in shifted:
        lifted = with_item(lifted, move.source, None, move.item.duration)
    cleared = {shift.source for shift in plan.shifts} if trusting else set()
    landed = _landed(lifted, [move for move in shifted if move.target not in cleared])
    if landed is None or len({move.item.name for move in shifted}) < len(landings):
        return None
    errands = moves_for_insertion(landed, plan.slot, duration) if duration else ()
    return None if errands is None else (*shifted, *errands)


def _landing(cells: Cells, shift: Shift) -> Move | None:
    """Return the move of a meeting, None if it does not begin where the plan says or would leave the calendar."""
    if slot_of(cells, shift.meeting) != shift.source:
        return None
    item = cells[shift.source]
    assert isinstance(item, Item)
    return Move(item, shift.source, shift.target) if 0 <= shift.target <= len(cells) - item.duration else None


def _landed(cells: Cells, moves: Sequence[Move]) -> Cells | None:
    """Return the calendar with meetings at their targets; None if one would overlap another item."""
    for move in moves:
        if any(cells[move.target : move.target + move.item.duration]):
            return None
        cells = with_item(cells, move.target, move.item, move.item.duration)
    return cells


BUDGET = 100
"""Initial points of every seat."""


@dataclass(frozen=True, slots=True)
class Reward:
    """Record of one scorer in one decision, as in the message."""

    selected_score: int
    availability: int
    """A: number of plans with a level above 0."""

    flexibility: int
    """Sum over levels s of count(s) (A + 1)^s; it grows with the number of plans and their levels; reported, not paid."""

    scoring_cost: int
    """Total points that its scores cost in all offers of the meeting."""

    reward: int
    """R."""

    def to_message(self) -> Mapping[str, int]:
        """Return the fields of the message."""
        return asdict(self)


def score_reward(scores: Sequence[int], selected: int) -> Reward:
    """Return the record for a seat's reported levels and its level of the chosen plan."""
    feasible = [score for score in scores if score > 0]
    available = len(feasible)
    flexibility = sum((available + 1) ** score for score in feasible)
    paid = 0 if selected in (0, BEST) else BEST - selected + max(0, min(available, len(scores)) - 1)
    return Reward(selected, available, flexibility, sum(BEST - score for score in feasible), paid)


def updated_budget(points: int, gained: int, paid: int) -> int:
    """Return a budget after one decision; it never falls below 0."""
    return max(0, points + gained - paid)


Chain = tuple[tuple[Item, Shift], ...]
"""Meetings that move, with their shifts; the last one moves to a free slot."""


def enumerate_plans(cells: Cells, duration: int, depth: int, targets: int) -> list[DsmPlan]:
    """Return every plan for a calendar, feasible or not; at most `depth` meetings per chain and `targets` chains per slot.

    A slot without a meeting is one plan, whose id is the slot. A meeting that begins there may move to a free slot of the
    initiator, or to another meeting's, which then moves in the same way; the ids are (slot + 1) * 1000 + place (Table 9).
    """
    suggested: list[DsmPlan] = []
    for slot in range(len(cells) - duration + 1):
        span = frozenset(range(slot, slot + duration))
        meetings = [item for _, item in blocking_items(cells, slot, duration) or [] if item.kind == "meeting"]
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
    """Yield every chain that moves a meeting away, without using the `taken` cells."""
    source = cells.index(item)
    taken = taken.union(range(source, source + item.duration))
    for target in range(len(cells) - item.duration + 1):
        span = range(target, target + item.duration)
        there = blocking_items(cells, target, item.duration) or []
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
