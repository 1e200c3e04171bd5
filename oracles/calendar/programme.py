"""One dynamic programme over slots answers everything about all subsets of the meetings at once.

1. Backwards over the slots: the value of a state is the best over the groups that may start now, of what the group costs and
   of the value of the state after it (`states`). All states, groups and questions of a slot are one array operation.
2. A question is a column, all in the (min, +) semiring (`packing`); maximising is minimising the negative. The tie-break
   (specification 5.2) is part of the number: the lexicographically smallest vector of slots in the order of the items.
3. Counting is a second semiring over the same graph: the moves that keep to the optimum are known by then, and counts of what
   follows them add up.
4. The value in the first slot of the state where a subset is left is the answer for that subset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracles.calendar.packing import AGENTS, BEST, WORST, Packing
from oracles.calendar.problem import Problem, Table
from oracles.calendar.states import Graph, graph_of

LIMIT = 50_000_000
"""Slots times states times groups beyond which the solver takes over: some seconds of work."""

BLOCK = 1 << 18
"""Numbers in one array operation: what a processor's cache holds."""

EXACT = 1 << 53
"""Sums of whole numbers below this are exact as floating-point numbers."""


@dataclass(frozen=True)
class Solution:
    """What the programme found out, by subset of the meetings where a first axis says so; senses are BEST and WORST."""

    problem: Problem
    graph: Graph
    possible: list[bool]
    """(subsets): whether the subset can be scheduled; what else is said of one that cannot means nothing."""

    totals: list[list[int]]
    """(senses, subsets)"""

    vectors: Table
    """(senses, subsets, items): start slots."""

    ranges: list[list[int]]
    """Each agent's least and greatest cost over the optima."""

    shown: tuple[int, int]
    """The optimum on the shown scale, and the least shown cost of a schedule that is optimal on the scored one."""

    tight: NDArray[np.bool_]
    """(slots, groups, states): whether starting this group now belongs to a cheapest schedule of what is left."""

    @property
    def all_meetings(self) -> int:
        """The subset that is all of them."""
        return len(self.possible) - 1

    @cached_property
    def per_agent(self) -> list[list[list[int]]]:
        """(senses, subsets, agents): what each agent pays directly."""
        chosen = self.problem.costs[np.arange(self.problem.count), :, self.vectors]
        paid: list[list[list[int]]] = np.where(self.problem.bits[:, :, None], chosen, 0).sum(axis=2).tolist()
        return paid

    @cached_property
    def optima(self) -> int:
        """How many schedules of all meetings are optimal, the places of prior meetings counted too."""
        if not self.possible[-1]:
            return 0
        counted = self._count(float)
        return int(counted if counted < EXACT else self._count(object))

    def _count(self, dtype: Any) -> Any:
        counts = np.zeros(self.graph.states + 1, dtype)
        counts[self.graph.done] = 1
        for tight in self.tight[::-1]:
            counts[:-1] = (counts[self.graph.successors] * tight).sum(axis=0)
        return counts[self.graph.starts[-1]]


def solve(problem: Problem, shown: Problem | None = None, limit: int = LIMIT) -> Solution | None:
    """Answer every question at once; None when the states are too many.

    Args:
        problem: the items, at the prices that count.
        shown: the same at the other prices; left out where they are the same.
        limit: the most slots times states times groups.
    """
    graph = graph_of(problem.conflicts, problem.durations, problem.meetings, limit // problem.slots)
    if graph is None:
        return None
    packing = Packing(problem, shown)
    weights = packing.weights(graph)
    values, digits, remaining = _walk(packing, graph, weights)
    first = values[graph.starts]
    fits = first[:, BEST] < packing.unreachable
    keys = np.where(fits[:, None], first[:, :AGENTS], 0).T
    low = keys & ((1 << packing.shift) - 1)
    further = [np.where(fits[:, None], level[graph.starts], 0).T for level in digits]
    return Solution(
        problem,
        graph,
        _capacity(problem, fits),
        [(keys[BEST] >> packing.shift).tolist(), (-(keys[WORST] >> packing.shift)).tolist()],
        packing.vectors([low, *further]),
        _ranges(packing, first[-1].tolist()),
        _shown(packing, first[-1].tolist()),
        _tight(packing, graph, remaining, weights[:, :, BEST]),
    )


def _walk(packing: Packing, graph: Graph, weights: Table) -> tuple[Table, list[Table], Table]:
    """The values and further digits of the first slot, by state, and of all slots what is still to be paid at best."""
    values = np.full((graph.states + 1, packing.columns), packing.infinity, packing.dtype)
    values[graph.done] = 0
    deeper = packing.deeper(graph)
    digits = [np.where(values[:, :AGENTS] == 0, 0, packing.infinity) for _ in deeper]
    remaining = np.empty((len(weights) + 1, graph.states + 1), packing.dtype)
    remaining[-1] = values[:, BEST] >> packing.shift
    step = max(1, BLOCK // (len(graph.groups) * packing.columns))
    for slot in range(len(weights) - 1, -1, -1):
        parts = [
            _slot(values, digits, graph.successors[:, low : low + step], weights[slot], [level[slot] for level in deeper])
            for low in range(0, graph.states, step)
        ]
        values[:-1] = parts[0][0] if len(parts) == 1 else np.concatenate([part for part, _ in parts])
        for number, level in enumerate(digits):
            level[:-1] = np.concatenate([further[number] for _, further in parts])
        remaining[slot] = values[:, BEST] >> packing.shift
    return values, digits, remaining


def _slot(
    values: Table, digits: list[Table], after: NDArray[np.intp], weights: Table, deeper: list[Table]
) -> tuple[Table, list[Table]]:
    """The values of some states in one slot, from those of all states in the next."""
    options = values[after]
    options += weights[:, None, :]
    best = options.min(axis=0)
    best_digits = []
    if deeper:
        equal = options[:, :, :AGENTS] == best[:, :AGENTS]
        for level, weight in zip(digits, deeper, strict=True):
            further = np.where(equal, level[after] + weight[:, None, None], level[-1])
            best_digits.append(further.min(axis=0))
            equal &= further == best_digits[-1]
    return best, best_digits


def _capacity(problem: Problem, fits: NDArray[np.bool_]) -> list[bool]:
    """Which subsets fit into the agents' free cells, of those that can be placed."""
    takes = np.array([[mask >> agent & 1 for agent in range(problem.agents)] for mask in problem.masks[: problem.meetings]])
    needs = problem.bits[:, : problem.meetings] @ (takes * np.array(problem.durations[: problem.meetings])[:, None])
    possible: list[bool] = (fits & (needs <= np.array(problem.free)).all(axis=1)).tolist()
    return possible


def _ranges(packing: Packing, numbers: list[int]) -> list[list[int]]:
    agents, base = packing.problem.agents, numbers[BEST] >> packing.shift << packing.shift
    return [[numbers[AGENTS + agent] - base, base - numbers[AGENTS + agents + agent]] for agent in range(agents)]


def _shown(packing: Packing, numbers: list[int]) -> tuple[int, int]:
    best = numbers[BEST] >> packing.shift
    return (numbers[-2], numbers[-1] - (best << packing.shift)) if packing.shown else (best, best)


def _tight(packing: Packing, graph: Graph, remaining: Table, weights: Table) -> NDArray[np.bool_]:
    prices = weights >> packing.shift
    tight = np.empty((len(prices), *graph.successors.shape), bool)
    step = max(1, BLOCK // graph.successors.size)
    for low in range(0, len(prices), step):
        span = slice(low, min(low + step, len(prices)))
        later = remaining[span.start + 1 : span.stop + 1][:, graph.successors]
        later += prices[span, :, None]
        np.equal(later, remaining[span, None, :-1], out=tight[span])
    tight &= remaining[:-1, None, :-1] < packing.unreachable >> packing.shift
    return tight
