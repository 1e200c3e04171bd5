"""What planning in order of arrival comes to: two schedules that any planner should beat, or at least equal (5.4).

Each takes the meetings in their order and gives each a place for good: prior meetings stay, meetings that share an agent do not
overlap, and every place is an allowed one. `greedy` takes the lowest slot, whatever it costs; `myopic` takes the cheapest slot,
the lowest of equal ones. A planner that finds no place is stuck, and then there is no schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oracles.calendar.problem import Problem


def greedy(problem: Problem) -> tuple[int, ...] | None:
    """The lowest allowed slot of each meeting in order; None when stuck."""
    return _in_order(problem, [range(problem.slots)] * problem.meetings)


def myopic(problem: Problem) -> tuple[int, ...] | None:
    """The cheapest allowed slot of each meeting in order, the lowest of equal ones; None when stuck."""
    return _in_order(problem, np.argsort(problem.prices[: problem.meetings], axis=1, kind="stable").tolist())


def price(problem: Problem, slots: Sequence[int]) -> int | None:
    """What all pay for these slots of the meetings while prior meetings stay; None where that is no schedule."""
    if not problem.holds(range(problem.meetings)):
        return None
    placed = _standing(problem)
    for item, slot in enumerate(slots):
        if not 0 <= slot < problem.slots or not _open(problem, placed, item, slot):
            return None
        placed[item] = slot
    return sum(int(problem.prices[item, slot]) for item, slot in enumerate(slots))


def _standing(problem: Problem) -> dict[int, int]:
    return dict(enumerate(problem.stays, start=problem.meetings))


def _open(problem: Problem, placed: dict[int, int], item: int, slot: int) -> bool:
    """Whether an item may start in a slot beside what is placed."""
    return bool(problem.allowed[item, slot]) and not any(
        slot < at + problem.durations[other] and at < slot + problem.durations[item]
        for other, at in placed.items()
        if problem.masks[other] & problem.masks[item]
    )


def _in_order(problem: Problem, wishes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The first slot that is open of those that each meeting wishes for, in that order."""
    if not problem.holds(range(problem.meetings)):
        return None
    placed = _standing(problem)
    for item, wished in enumerate(wishes):
        slot = next((slot for slot in wished if _open(problem, placed, item, slot)), None)
        if slot is None:
            return None
        placed[item] = slot
    return tuple(placed[item] for item in range(problem.meetings))
