"""The graph that the dynamic programme walks: what is left to place and what is still running, slot by slot.

1. In each slot a group of items starts, perhaps none; no two of a group share an agent, and none shares one with what runs.
2. A state is the set of items left and the items running with the slots that they still take. Where all items take one slot
   nothing ever runs, and the state is the set alone.
3. A state and a group have one successor, whatever the slot: the graph is a table (groups, states), made once for all slots,
   and it knows no cost, no calendar and no agent, only which items are in conflict. So tasks of one shape share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Running = tuple[tuple[int, int], ...]
State = tuple[int, Running]


@dataclass(frozen=True)
class Graph:
    """Groups, states, and which follows which."""

    groups: tuple[int, ...]
    """Sets of items that may start in one slot, one bit an item; the empty one first."""

    successors: NDArray[np.intp]
    """(groups, states): the state afterwards; `states` itself where the group may not start there."""

    starts: NDArray[np.intp]
    """For each subset of the meetings the state in which it and all prior meetings are left."""

    done: int
    """The state in which nothing is left and nothing runs."""

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.successors[0])

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """(groups, items): who is in a group."""
        count = max(self.groups).bit_length()
        return (np.array(self.groups)[:, None] >> np.arange(count)) & 1


@lru_cache(maxsize=16)
def graph_of(conflicts: tuple[int, ...], durations: tuple[int, ...], meetings: int, limit: int) -> Graph | None:
    """The graph for these items, the first `meetings` of them new; None when its table would have more than `limit` cells."""
    groups = _groups(conflicts, limit >> len(conflicts) if max(durations) == 1 else limit)
    if groups is None:
        return None
    prior = (1 << len(conflicts)) - (1 << meetings)
    starts = np.arange(1 << meetings) | prior
    if max(durations) == 1:
        return Graph(groups, _subsets(groups, len(conflicts)), starts, 0)
    table = _walk(groups, conflicts, durations, [(int(left), ()) for left in starts], limit // len(groups))
    if table is None:
        return None
    index = {state: number for number, state in enumerate(table)}
    rows = [[index.get(after, len(table)) if after else len(table) for after in row] for row in table.values()]
    return Graph(groups, np.array(rows, np.intp).T.copy(), np.arange(len(starts)), index[0, ()])


def _groups(conflicts: tuple[int, ...], most: int) -> tuple[int, ...] | None:
    """Every set of items of which no two are in conflict; None for more than `most`."""
    groups = [(0, 0)]
    for item, others in enumerate(conflicts):
        groups += [(group | 1 << item, closed | others) for group, closed in groups if not closed >> item & 1]
        if len(groups) > most:
            return None
    return tuple(sorted(group for group, _ in groups))


def _subsets(groups: tuple[int, ...], items: int) -> NDArray[np.intp]:
    left = np.arange(1 << items)
    starting = np.array(groups)[:, None]
    return np.where(left & starting == starting, left & ~starting, 1 << items)


def _walk(
    groups: tuple[int, ...], conflicts: tuple[int, ...], durations: tuple[int, ...], starts: list[State], most: int
) -> dict[State, list[State | None]] | None:
    """Every state that can be reached from these, in the order found, with its successors by group."""
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
