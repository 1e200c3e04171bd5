"""A scenario as tables: which item may start in which slot, and the cost for each agent (specification 5.1).

1. The items are the meetings in order, then the prior meetings, which cost nothing if they stay.
2. A meeting may cover free cells, movable errands, and a prior meeting that moves: two items that share an agent never overlap.
An errand under it costs its owner once; a prior meeting that moves costs each participant.
3. An errand can be displaced only if its agent has a free cell. That published test alone is not sufficient: the cells that an
agent's new meetings take must not exceed its free cells (`Problem.has_room_for`). Both tests together are exact: displaced
errands fit into the cells that no item ends in, and those stay free until they are needed.
4. For a prior meeting rule 3 is not needed: errands under its new place fit into the cells that it leaves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worlds.calendar.rules.scenario import Meeting, PriorMeeting, Scenario

Scale = Literal["scored", "shown"]
"""The scale of costs that counts."""

Table = NDArray[Any]
"""Integers: 64 bits if they fit, else Python's arbitrary-precision integers."""

LARGEST = 1 << 60
"""Upper bound for sums of 64-bit integers, with room for a sum of two infinities."""

MOVABLE, BLOCKED = 1, 2
"""Kinds of cells with errands; 0 is any other."""


@dataclass(frozen=True)
class Problem:
    """A scenario as the solvers see it; `n` items, the first `meetings` of them new."""

    slots: int
    agents: int
    meetings: int
    ids: tuple[int, ...]
    durations: tuple[int, ...]
    masks: tuple[int, ...]
    """Participants of each item, one bit per agent."""

    stays: tuple[int, ...]
    """Slot of each prior meeting."""

    free: tuple[int, ...]
    """Number of free cells of each agent."""

    costs: Table
    """(n, agents, slots): the agent's cost if the item starts in the slot; undefined if that is not allowed."""

    allowed: NDArray[np.bool_]
    """(n, slots): True if the item may start there."""

    @property
    def count(self) -> int:
        """Number of items to place."""
        return len(self.ids)

    @cached_property
    def prices(self) -> Table:
        """(n, slots): total cost of all agents."""
        total: Table = self.costs.sum(axis=1)
        return total

    @cached_property
    def max_cost(self) -> int:
        """Upper bound on the cost of any schedule."""
        return sum(int(row.max()) for row in np.where(self.allowed, self.prices, 0))

    @cached_property
    def conflicts(self) -> tuple[int, ...]:
        """For each item the other items that share an agent with it, one bit per item."""
        return tuple(
            sum(1 << other for other, mask in enumerate(self.masks) if other != item and mask & mine)
            for item, mine in enumerate(self.masks)
        )

    @property
    def bits(self) -> NDArray[np.bool_]:
        """(2^meetings, n): True if the subset of meetings places the item; prior ones are always placed."""
        subsets = np.arange(1 << self.meetings)[:, None]
        placed = (subsets >> np.arange(self.meetings)) & 1 == 1
        return np.concatenate([placed, np.ones((len(placed), self.count - self.meetings), bool)], axis=1)

    def has_room_for(self, meetings: Collection[int]) -> bool:
        """Return True if every agent has enough free cells for these meetings (by index)."""
        return all(
            sum(self.durations[item] for item in meetings if self.masks[item] >> agent & 1) <= free
            for agent, free in enumerate(self.free)
        )


def build_problem(scenario: Scenario, scale: Scale = "scored") -> Problem:
    """Convert a scenario to tables; prices are on the scored scale or on the one that agents see."""
    items: tuple[Meeting, ...] = (*scenario.meetings, *scenario.prior)
    takes = np.zeros((len(items), len(scenario.agents)), bool)
    for number, item in enumerate(items):
        takes[number, list(item.participants)] = True
    price = scenario.scored_cost if scale == "scored" else int
    shown = {errand.cost for mine in scenario.errands for errand in mine} | {prior.cost for prior in scenario.prior}
    cells, kinds = _errands(scenario, {cost: price(cost) for cost in shown})
    free = _free(scenario)
    costs = np.where(takes[:, :, None], cells, 0)
    closed = takes @ (kinds == BLOCKED)
    stuck = (kinds == MOVABLE) & (np.array(free) == 0)[:, None]
    closed[: len(scenario.meetings)] |= takes[: len(scenario.meetings)] @ stuck
    for number, item in enumerate(items):
        if item.duration > 1:
            costs[number], closed[number] = _spans(costs[number], closed[number], item.duration)
        if isinstance(item, PriorMeeting):
            costs[number, :, :] += (takes[number] * price(item.cost))[:, None]
            costs[number, :, item.slot] = 0
    return Problem(
        scenario.slots,
        len(scenario.agents),
        len(scenario.meetings),
        tuple(item.id for item in items),
        tuple(item.duration for item in items),
        tuple(sum(1 << agent for agent in item.participants) for item in items),
        tuple(prior.slot for prior in scenario.prior),
        free,
        costs,
        ~closed,
    )


def _errands(scenario: Scenario, price: dict[int, int]) -> tuple[Table, NDArray[np.int8]]:
    """Return two arrays (agents, slots): the price of the errand in each cell, and the kind of the cell."""
    cells = [[0] * scenario.slots for _ in scenario.agents]
    kinds = np.zeros((len(cells), scenario.slots), np.int8)
    for agent, mine in enumerate(scenario.errands):
        row, kind = cells[agent], kinds[agent]
        for errand in mine:
            row[errand.slot] = price[errand.cost]
            kind[errand.slot] = BLOCKED if errand.blocked else MOVABLE
    total = (sum(map(sum, cells)) + sum(price.values()) * len(cells)) * (len(scenario.meetings) + len(scenario.prior))
    return np.array(cells, np.int64 if total < LARGEST else object), kinds


def _free(scenario: Scenario) -> tuple[int, ...]:
    taken = [len(mine) for mine in scenario.errands]
    for prior in scenario.prior:
        for agent in prior.participants:
            taken[agent] += prior.duration
    return tuple(scenario.slots - cells for cells in taken)


def _spans(costs: Table, closed: NDArray[np.bool_], duration: int) -> tuple[Table, NDArray[np.bool_]]:
    """Convert values by cell to values by start slot: costs add up, and one closed cell or too late a start closes."""
    total, shut = costs.copy(), closed.copy()
    for later in range(1, duration):
        total[:, :-later] += costs[:, later:]
        shut[:-later] |= closed[later:]
    shut[len(shut) - duration + 1 :] = True
    return total, shut
