"""The best that can be done while nobody moves anything but the participants of the round's own meeting.

1. A round holds an item when every participant of the item takes part in the round's meeting. Only such a round can move the
   item without an outsider, so a prior meeting that no round holds stays where it is.
2. An item can end where a prior meeting stood only if it gets there no earlier than that can leave: the last round that holds
   the item is not before the first one that holds the prior meeting. A new meeting is held by its own round.
3. Every game without outsiders ends in a schedule that keeps both rules, and costs at least what the schedule costs directly.
   So no such game is cheaper than the cheapest of these schedules. Where no round holds a prior meeting the bound is met: then
   prior meetings are as good as blocked, and any schedule around them can be played (`problem`, rule 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from oracles.calendar import cpsat
from oracles.calendar.problem import Problem, Scale, tables
from oracles.calendar.programme import BEST, LIMIT, solve
from worlds.calendar.rules.scenario import Scenario


def best_without_outsiders(scenario: Scenario, scale: Scale = "scored", *, limit: int = LIMIT) -> int | None:
    """What all pay at least in any game in which no outsider of a round moves anything; None where no such game succeeds.

    Args:
        scenario: the task.
        scale: which costs count.
        limit: the size (`programme.LIMIT`) beyond which the solver takes over.
    """
    return _least(_confined(tables(scenario, scale)), limit)


def saved_by_outsiders(scenario: Scenario, scale: Scale = "scored") -> int | None:
    """How much less the optimum costs than anything without outsiders; None where nothing succeeds without them."""
    alone, together = best_without_outsiders(scenario, scale), _least(tables(scenario, scale), LIMIT)
    return None if alone is None or together is None else alone - together


def _least(problem: Problem, limit: int) -> int | None:
    """The cost of the cheapest schedule; None where there is none."""
    solution = solve(problem, limit=limit)
    if solution is None:
        best = cpsat.optimum(problem)
        return None if best is None else best.cost
    return solution.totals[BEST][-1] if solution.possible[-1] else None


def holding(problem: Problem, item: int) -> list[int]:
    """The rounds, from 0, whose meeting all participants of an item take part in."""
    return [number for number, who in enumerate(problem.masks[: problem.meetings]) if problem.masks[item] & ~who == 0]


def _confined(problem: Problem) -> Problem:
    """The items that can go anywhere without outsiders, and where: what stays is left out, and its cells are closed."""
    rounds = [holding(problem, item) for item in range(problem.count)]
    movable = [item for item in range(problem.count) if rounds[item]]
    return replace(
        problem,
        ids=tuple(problem.ids[item] for item in movable),
        durations=tuple(problem.durations[item] for item in movable),
        masks=tuple(problem.masks[item] for item in movable),
        stays=tuple(problem.stays[item - problem.meetings] for item in movable if item >= problem.meetings),
        costs=problem.costs[movable],
        allowed=(problem.allowed & _reached(problem, rounds))[movable],
    )


def _reached(problem: Problem, rounds: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """(n, slots): where each item can start as far as the second rule says; `rounds`: those that hold it."""
    reached = np.ones(problem.allowed.shape, bool)
    for prior, stays in enumerate(problem.stays, start=problem.meetings):
        leaves = min(rounds[prior], default=problem.meetings)
        for item in range(problem.count):
            if problem.conflicts[prior] >> item & 1 and max(rounds[item], default=-1) < leaves:
                earliest = max(0, stays - problem.durations[item] + 1)
                reached[item, earliest : stays + problem.durations[prior]] = False
    return reached
