"""The fairest of the optimal schedules: the least largest cost of an agent, then the least next largest, and so on (leximin).

Costs of agents do not add up to fairness, so the optimal schedules are followed forwards along the moves that keep to the
optimum (`Solution.tight`), and each state holds the different costs by agent that lead to it, with the lexicographically
smallest slots of each. Costs in which one agent pays more than the most loaded one of a known optimum need no following.
"""

from __future__ import annotations

from operator import add

import numpy as np

from oracles.calendar.packing import BEST
from oracles.calendar.programme import Solution

LIMIT = 200_000
"""Different costs by agent, over all states of a slot, beyond which this is left to the solver."""

Costs = tuple[int, ...]
Slots = tuple[int, ...]


def fairest(solution: Solution, limit: int = LIMIT) -> tuple[Slots, Costs] | None:
    """Slots and costs by agent, ties to the smallest slots; None when there are too many costs to track, or no schedule."""
    if not solution.possible[-1]:
        return None
    known = tuple(solution.per_agent[BEST][-1])
    if all(low == high for low, high in solution.ranges):
        return tuple(solution.vectors[BEST, -1].tolist()), known
    slots_by_costs = _follow(solution, max(known), limit)
    if slots_by_costs is None:
        return None
    costs, slots = min(slots_by_costs.items(), key=lambda one: (sorted(one[0], reverse=True), one[1]))
    return slots, costs


def _follow(solution: Solution, most: int, limit: int) -> dict[Costs, Slots] | None:
    """The costs by agent of all optimal schedules in which nobody pays more than `most`, each with its smallest slots."""
    graph, problem = solution.graph, solution.problem
    states: dict[int, dict[Costs, Slots]] = {int(graph.starts[-1]): {(0,) * problem.agents: (0,) * problem.count}}
    successors = graph.successors.tolist()
    members = [np.flatnonzero(row).tolist() for row in graph.members]
    costs = problem.costs.transpose(2, 0, 1).tolist()
    for slot, tight in enumerate(solution.tight):
        after: dict[int, dict[Costs, Slots]] = {}
        for state, ways in states.items():
            for group in tight[:, state].nonzero()[0].tolist():
                reached = after.setdefault(successors[group][state], {})
                for paid, slots in ways.items():
                    _start(reached, paid, slots, members[group], costs[slot], slot, most)
        states = after
        if sum(map(len, states.values())) > limit:
            return None
    return states[graph.done]


def _start(
    reached: dict[Costs, Slots], paid: Costs, slots: Slots, group: list[int], costs: list[list[int]], slot: int, most: int
) -> None:
    """One way goes on with a group that starts in a slot, unless somebody pays too much."""
    for item in group:
        paid = tuple(map(add, paid, costs[item]))
        slots = (*slots[:item], slot, *slots[item + 1 :])
    if max(paid) <= most and (paid not in reached or slots < reached[paid]):
        reached[paid] = slots
