"""Dynamic programme over slots that answers all questions about all subsets of the meetings at once.

1. It runs backwards over the slots. The value of a state is the best, over the groups that may start now, of the group's cost
plus the value of the next state (`Graph`). All states, groups and questions of a slot are one array operation.
2. A question is a column, in the (min, +) semiring (`Packing`); maximising is minimising the negative. The tie-break
(specification 5.2), the lexicographically smallest vector of slots in the order of the items, is part of the number.
3. Counting uses a second semiring on the same graph: it adds the counts along the moves that are known to be optimal.
4. The answer for a subset is the value, in the first slot, of the state in which that subset is left.

Packing: the steps of the programme only add numbers and take the minimum, so several criteria fit into one number.
1. A column's number is a first part, shifted up, plus a second part: it is minimised by the first, then by the second.
2. The slots of the items in order are the digits of one number, whose minimum is the lexicographically smallest vector. As many
digits as fit are the second part of a column; the others form further levels of digits.
3. Numbers are 64 bits wide. If costs are too large for that, Python integers are used, and one level is enough.
Example: one agent, two meetings, and four slots, of which slot 1 costs 3, slot 3 costs 2, and the others nothing. A digit takes
2 bits, the second part 56, so the schedule (0, 3) is 2 << 56 | 0b0011, the minimum; (2, 3) costs as much: 2 << 56 | 0b1011.

Graph: states are the items left to place and the items that are running, with their remaining slots. In each slot a group of
items starts, perhaps an empty one; no two of a group share an agent, nor with a running item. A state and a group have one
successor, independent of the slot, so the graph is a table (groups, states) that tasks with the same conflicts and durations
share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracles.calendar.problem import LARGEST, Problem, Table

Running = tuple[tuple[int, int], ...]
State = tuple[int, Running]


@dataclass(frozen=True)
class Graph:
    """Groups, states, and their successors."""

    groups: tuple[int, ...]
    """Sets of items that may start in one slot, one bit per item; the empty one first."""

    successors: NDArray[np.intp]
    """(groups, states): the next state; `states` itself if the group may not start there."""

    starts: NDArray[np.intp]
    """For each subset of the meetings, the state in which it and all prior meetings are left."""

    done: int
    """The state in which nothing is left and nothing runs."""

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.successors[0])

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """(groups, items): 1 if the item is in the group."""
        count = max(self.groups).bit_length()
        return (np.array(self.groups)[:, None] >> np.arange(count)) & 1


@lru_cache(maxsize=16)
def build_graph(conflicts: tuple[int, ...], durations: tuple[int, ...], meetings: int, limit: int) -> Graph | None:
    """Return the graph for these items, the first `meetings` of them new; None if its table would exceed `limit` cells."""
    groups = _groups(conflicts, limit >> len(conflicts) if max(durations) == 1 else limit)
    if groups is None:
        return None
    prior = (1 << len(conflicts)) - (1 << meetings)
    starts = np.arange(1 << meetings) | prior
    if max(durations) == 1:
        left, starting = np.arange(1 << len(conflicts)), np.array(groups)[:, None]
        return Graph(groups, np.where(left & starting == starting, left & ~starting, len(left)), starts, 0)
    table = _reached(groups, conflicts, durations, [(int(left), ()) for left in starts], limit // len(groups))
    if table is None:
        return None
    index = {state: number for number, state in enumerate(table)}
    rows = [[index.get(after, len(table)) if after else len(table) for after in row] for row in table.values()]
    return Graph(groups, np.array(rows, np.intp).T.copy(), np.arange(len(starts)), index[0, ()])


def _groups(conflicts: tuple[int, ...], most: int) -> tuple[int, ...] | None:
    """Return every set of items without a conflict; None if there are more than `most`."""
    groups = [(0, 0)]
    for item, others in enumerate(conflicts):
        groups += [(group | 1 << item, closed | others) for group, closed in groups if not closed >> item & 1]
        if len(groups) > most:
            return None
    return tuple(sorted(group for group, _ in groups))


def _reached(
    groups: tuple[int, ...], conflicts: tuple[int, ...], durations: tuple[int, ...], starts: list[State], most: int
) -> dict[State, list[State | None]] | None:
    """Return every state that is reachable from `starts`, in the order found, with its successors by group."""
    table: dict[State, list[State | None]] = {}
    waiting: dict[State, None] = dict.fromkeys(starts)
    while waiting:
        if len(table) + len(waiting) > most:
            return None
        for state in waiting:
            table[state] = [_after(state, group, conflicts, durations) for group in groups]
        waiting = {after: None for state in waiting for after in table[state] if after and after not in table}
    return table


def _after(state: State, group: int, conflicts: tuple[int, ...], durations: tuple[int, ...]) -> State | None:
    left, running = state
    if group & ~left or any(conflicts[item] & group for item, _ in running):
        return None
    starting = [(item, durations[item]) for item in range(len(conflicts)) if group >> item & 1]
    still = sorted((item, slots - 1) for item, slots in (*running, *starting) if slots > 1)
    return left ^ group, tuple(still)


BITS = LARGEST.bit_length() - 1
BEST, WORST, AGENTS = 0, 1, 2
"""Columns: the optimum, the worst schedule, each agent's least and greatest cost, and the results on the other scale."""


@dataclass(frozen=True)
class Packing:
    """The columns' weights for a problem, and the decoding of their sums."""

    problem: Problem
    shown: Problem | None
    """The problem at the shown prices; None if those equal the scored ones."""

    @cached_property
    def digit_bits(self) -> int:
        """Number of bits of one slot."""
        return max(1, (self.problem.slots - 1).bit_length())

    @cached_property
    def second_bits(self) -> int:
        """Number of bits of a second part that is a cost."""
        return max(self.problem.max_cost, self.shown.max_cost if self.shown else 0).bit_length()

    @cached_property
    def is_wide(self) -> bool:
        """True if 64 bits are not enough."""
        return self.second_bits + self.problem.max_cost.bit_length() >= BITS

    @cached_property
    def shift_bits(self) -> int:
        """Number of bits of the second part."""
        if self.is_wide:
            return max(self.second_bits, self.digit_bits * self.problem.count)
        return BITS - 1 - self.problem.max_cost.bit_length()

    @cached_property
    def unreachable(self) -> int:
        """Numbers from here on mean that there is no schedule."""
        return 1 << (self.second_bits + self.shift_bits + 2) if self.is_wide else LARGEST

    @property
    def infinity(self) -> int:
        """Value for no schedule; two of them can be added, and it stays unreachable after a subtraction."""
        return self.unreachable << 1

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return object if self.is_wide else np.int64

    @cached_property
    def levels(self) -> list[range]:
        """The items whose slots are digits of each level."""
        count, room, levels = self.problem.count, self.shift_bits // self.digit_bits, []
        done = 0
        while done < count:
            levels.append(range(done, min(count, done + room)))
            done, room = done + room, BITS // self.digit_bits
        return levels

    @property
    def columns(self) -> int:
        """Number of questions that are answered at once."""
        return AGENTS + 2 * self.problem.agents + (2 if self.shown else 0)

    def weights(self, graph: Graph) -> Table:
        """Return (slots, groups, columns): the amount that a group adds to each column, or infinity if it may not start."""
        problem, agents = self.problem, self.problem.agents
        items = np.zeros((problem.count, problem.slots, self.columns), self.dtype)
        items[:] = (problem.prices.astype(self.dtype) << self.shift_bits)[:, :, None]
        items[:, :, WORST] *= -1
        items[:, :, :AGENTS] += self._digits(0).astype(self.dtype)[:, :, None]
        paid = problem.costs.transpose(0, 2, 1)
        items[:, :, AGENTS : AGENTS + agents] += paid
        items[:, :, AGENTS + agents : AGENTS + 2 * agents] -= paid
        if self.shown:
            items[:, :, -2] = self.shown.prices
            items[:, :, -1] += self.shown.prices
        items[~problem.allowed] = 0
        total = np.tensordot(graph.members.astype(self.dtype), items, 1).transpose(1, 0, 2)
        total[(graph.members @ ~problem.allowed).T > 0] = self.infinity
        return np.ascontiguousarray(total)

    def deeper_weights(self, graph: Graph) -> list[Table]:
        """Return (slots, groups) for each further level of digits."""
        return [(graph.members @ self._digits(level)).T for level in range(1, len(self.levels))]

    def unpack_slots(self, numbers: list[Table]) -> Table:
        """Return the slots, in a last axis, from the numbers of each level."""
        slots = np.zeros((*numbers[0].shape, self.problem.count), np.intp)
        for number, items in zip(numbers, self.levels, strict=True):
            for item in items:
                slots[..., item] = number >> self._place(items, item) & ((1 << self.digit_bits) - 1)
        return slots

    def _digits(self, level: int) -> Table:
        """Return (n, slots): the digit of an item in a slot at this level; 0 for the items of other levels."""
        digits = np.zeros((self.problem.count, self.problem.slots), self.dtype)
        for item in self.levels[level]:
            digits[item] = np.arange(self.problem.slots).astype(self.dtype) << self._place(self.levels[level], item)
        return digits

    def _place(self, items: range, item: int) -> int:
        return self.digit_bits * (items.stop - 1 - item)


LIMIT = 50_000_000
"""Maximum of slots times states times groups, beyond which the solver takes over; it takes some seconds."""

BLOCK = 1 << 18
"""Numbers in one array operation, sized for a processor's cache."""

EXACT = 1 << 53
"""Sums of integers below this are exact as floating-point numbers."""


@dataclass(frozen=True)
class Solution:
    """Results of the programme, by subset of the meetings if the first axis says so; senses are BEST and WORST."""

    problem: Problem
    graph: Graph
    possible: list[bool]
    """(subsets): True if the subset can be scheduled; other results for an impossible subset are undefined."""

    totals: list[list[int]]
    """(senses, subsets)"""

    vectors: Table
    """(senses, subsets, items): start slots."""

    ranges: list[list[int]]
    """Each agent's least and greatest cost over the optima."""

    shown: tuple[int, int]
    """The optimum on the shown scale, and the least shown cost of a schedule that is optimal on the scored one."""

    tight: NDArray[np.bool_]
    """(slots, groups, states): True if starting this group belongs to a cheapest schedule of the items left."""

    @cached_property
    def per_agent(self) -> list[list[list[int]]]:
        """(senses, subsets, agents): each agent's direct cost."""
        chosen = self.problem.costs[np.arange(self.problem.count), :, self.vectors]
        paid: list[list[list[int]]] = np.where(self.problem.bits[:, :, None], chosen, 0).sum(axis=2).tolist()
        return paid

    @cached_property
    def optima(self) -> int:
        """Number of optimal schedules of all meetings, counting the places of prior meetings too."""
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
    """Answer every question at once; None if there are too many states.

    Args:
        problem: the items, at the prices that count.
        shown: the same at the other prices; omitted if they are equal.
        limit: the maximum of slots times states times groups.
    """
    graph = build_graph(problem.conflicts, problem.durations, problem.meetings, limit // problem.slots)
    if graph is None:
        return None
    packing = Packing(problem, shown)
    weights = packing.weights(graph)
    values, digits, remaining = _walk(packing, graph, weights)
    first = values[graph.starts]
    fits = first[:, BEST] < packing.unreachable
    keys = np.where(fits[:, None], first[:, :AGENTS], 0).T
    low = keys & ((1 << packing.shift_bits) - 1)
    further = [np.where(fits[:, None], level[graph.starts], 0).T for level in digits]
    return Solution(
        problem,
        graph,
        _capacity(problem, fits),
        [(keys[BEST] >> packing.shift_bits).tolist(), (-(keys[WORST] >> packing.shift_bits)).tolist()],
        packing.unpack_slots([low, *further]),
        _ranges(packing, first[-1].tolist()),
        _shown(packing, first[-1].tolist()),
        _tight(packing, graph, remaining, weights[:, :, BEST]),
    )


def _walk(packing: Packing, graph: Graph, weights: Table) -> tuple[Table, list[Table], Table]:
    """Return values and further digits of the first slot, by state, and the minimal remaining cost of all slots."""
    values = np.full((graph.states + 1, packing.columns), packing.infinity, packing.dtype)
    values[graph.done] = 0
    deeper = packing.deeper_weights(graph)
    digits = [np.where(values[:, :AGENTS] == 0, 0, packing.infinity) for _ in deeper]
    remaining = np.empty((len(weights) + 1, graph.states + 1), packing.dtype)
    remaining[-1] = values[:, BEST] >> packing.shift_bits
    step = max(1, BLOCK // (len(graph.groups) * packing.columns))
    for slot in range(len(weights) - 1, -1, -1):
        parts = [
            _slot(values, digits, graph.successors[:, low : low + step], weights[slot], [level[slot] for level in deeper])
            for low in range(0, graph.states, step)
        ]
        values[:-1] = parts[0][0] if len(parts) == 1 else np.concatenate([part for part, _ in parts])
        for number, level in enumerate(digits):
            level[:-1] = np.concatenate([further[number] for _, further in parts])
        remaining[slot] = values[:, BEST] >> packing.shift_bits
    return values, digits, remaining


def _slot(
    values: Table, digits: list[Table], after: NDArray[np.intp], weights: Table, deeper: list[Table]
) -> tuple[Table, list[Table]]:
    """Return the values of some states in one slot, from those of all states in the next."""
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
    """Return which placeable subsets also fit into the agents' free cells."""
    takes = np.array([[mask >> agent & 1 for agent in range(problem.agents)] for mask in problem.masks[: problem.meetings]])
    needs = problem.bits[:, : problem.meetings] @ (takes * np.array(problem.durations[: problem.meetings])[:, None])
    possible: list[bool] = (fits & (needs <= np.array(problem.free)).all(axis=1)).tolist()
    return possible


def _ranges(packing: Packing, numbers: list[int]) -> list[list[int]]:
    agents, base = packing.problem.agents, numbers[BEST] >> packing.shift_bits << packing.shift_bits
    return [[numbers[AGENTS + agent] - base, base - numbers[AGENTS + agents + agent]] for agent in range(agents)]


def _shown(packing: Packing, numbers: list[int]) -> tuple[int, int]:
    best = numbers[BEST] >> packing.shift_bits
    return (numbers[-2], numbers[-1] - (best << packing.shift_bits)) if packing.shown else (best, best)


def _tight(packing: Packing, graph: Graph, remaining: Table, weights: Table) -> NDArray[np.bool_]:
    prices = weights >> packing.shift_bits
    tight = np.empty((len(prices), *graph.successors.shape), bool)
    step = max(1, BLOCK // graph.successors.size)
    for low in range(0, len(prices), step):
        span = slice(low, min(low + step, len(prices)))
        later = remaining[span.start + 1 : span.stop + 1][:, graph.successors]
        later += prices[span, :, None]
        np.equal(later, remaining[span, None, :-1], out=tight[span])
    tight &= remaining[:-1, None, :-1] < packing.unreachable >> packing.shift_bits
    return tight
