"""Number F of ways to give the meetings different slots, and the ratio d = F / total (specification 5.5).

1. Slots are processed in order; the state is the set of placed meetings. F is the permanent of the table of allowed slots.
Here no two meetings share a slot, even without common participants.
2. For meetings of several slots, F counts the vectors of start slots with disjoint spans, and the total is the number of such
vectors on empty calendars. With one slot each these are the injective maps and T! / (T - M)!.
3. With prior meetings a map counts once if some joint placement of these completes it. A history holds every placement of the
prior meetings so far (the determinised automaton), so different placements are not counted as different maps. Once a
placement is complete, the remaining meetings are counted as if there were no prior ones.
4. Meetings that exceed an agent's free cells cannot be scheduled, so F is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import perm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracles.calendar.problem import Problem

LIMIT = 4_000_000
"""Maximum number of slots times sets of meetings; beyond it nothing is counted. It takes some seconds."""

PRIOR_LIMIT = 300_000
"""Maximum number of histories with prior meetings; beyond it nothing is counted. It takes some seconds too."""

EXACT = 1 << 53
"""Sums of integers below this are exact as floating-point numbers."""

Busy = tuple[int, int]
"""Agents, and the slot from which they are free again."""

Placing = tuple[int, tuple[Busy, ...]]
"""Prior meetings left to place, and the agents busy with one."""

History = tuple[int, Busy, frozenset[Placing]]
"""Meetings left, agents busy with one, and every placement of prior meetings beside the others."""

FREE: Busy = (0, 0)
DONE: Placing = (0, ())


def count_total(problem: Problem) -> int:
    """Return the number of vectors of start slots with disjoint spans on empty calendars."""
    count = problem.meetings
    return perm(max(0, problem.slots - sum(problem.durations[:count]) + count), count)


def count_feasible(problem: Problem) -> int | None:
    """Return F; None if there are too many states to count."""
    if not problem.has_room_for(range(problem.meetings)):
        return 0
    if problem.slots << problem.meetings > LIMIT:
        return None
    ways = _permanent(problem, float)
    if ways[0, -2] >= EXACT:
        ways = _permanent(problem, object)
    return int(ways[0, -2]) if problem.count == problem.meetings else _with_prior(problem, ways)


def _permanent(problem: Problem, dtype: Any) -> NDArray[Any]:
    """Return (slots + 1, sets of meetings + 1): ways to place the rest from a slot on; the last column is a zero sentinel."""
    left = np.arange(1 << problem.meetings)
    item = np.arange(problem.meetings)[:, None]
    without = np.where(left >> item & 1 == 1, left ^ (1 << item), len(left))
    ends = np.minimum(np.arange(problem.slots) + np.array(problem.durations)[: problem.meetings, None], problem.slots)
    allowed = problem.allowed[: problem.meetings].astype(dtype)
    ways = np.zeros((problem.slots + 1, len(left) + 1), dtype)
    ways[-1, 0] = 1
    for slot in range(problem.slots - 1, -1, -1):
        ways[slot, :-1] = ways[slot + 1, :-1] + allowed[:, slot] @ ways[ends[:, slot, None], without]
    return ways


def _with_prior(problem: Problem, ways: NDArray[Any]) -> int | None:
    """Count the maps that leave a placement for the prior meetings; `ways` has the counts without prior meetings."""
    everything = (1 << problem.meetings) - 1
    prior = ((1 << problem.count) - 1) ^ everything
    counts: dict[History, int] = {(everything, FREE, frozenset([(prior, ())])): 1}
    completed = seen = 0
    for slot in range(problem.slots):
        starting = _groups(problem, slot)
        allowed = [item for item in range(problem.meetings) if problem.allowed[item, slot]]
        after: dict[History, int] = {}
        for (left, running, placings), count in counts.items():
            for chosen, busy in _choices(problem, left, running, allowed, slot):
                further = _least(_placings(placings, busy[0], starting, slot))
                if DONE in further:
                    completed += count * int(ways[max(slot + 1, busy[1]), left & ~chosen])
                elif further:
                    history = (left & ~chosen, busy, further)
                    after[history] = after.get(history, 0) + count
            seen += 1
            if seen > PRIOR_LIMIT:
                return None
        counts = after
    return completed + sum(
        count for (left, _, placings), count in counts.items() if not left and any(not p[0] for p in placings)
    )


def _choices(problem: Problem, left: int, running: Busy, allowed: list[int], slot: int) -> Iterator[tuple[int, Busy]]:
    """Yield each meeting that may start in a slot, as a set, and the agents busy with a meeting; at most one runs at a time."""
    if running[1] > slot:
        yield 0, running
        return
    yield 0, FREE
    for item in allowed:
        if left >> item & 1:
            yield 1 << item, (problem.masks[item], slot + problem.durations[item])


def _groups(problem: Problem, slot: int) -> list[tuple[int, int, tuple[Busy, ...]]]:
    """Return every set of prior meetings that may start in a slot together, its agents, and when they are free again."""
    groups: list[tuple[int, int, tuple[Busy, ...]]] = [(0, 0, ())]
    for item in range(problem.meetings, problem.count):
        agents, end = problem.masks[item], slot + problem.durations[item]
        if problem.allowed[item, slot]:
            later = ((agents, end),) if end > slot + 1 else ()
            groups += [(group | 1 << item, who | agents, (*ends, *later)) for group, who, ends in groups if not who & agents]
    return groups


def _placings(
    placings: Iterable[Placing], taken: int, starting: list[tuple[int, int, tuple[Busy, ...]]], slot: int
) -> Iterator[Placing]:
    """Yield the continuations of placements if a meeting takes these agents in a slot, with every set of prior meetings."""
    for left, running in placings:
        busy = tuple(one for one in running if one[1] > slot)
        closed = sum(agents for agents, _ in busy)
        if not closed & taken:
            for group, who, ends in starting:
                if not group & ~left and not who & (closed | taken):
                    yield left & ~group, tuple(sorted(one for one in (*busy, *ends) if one[1] > slot + 1))


def _least(placings: Iterable[Placing]) -> frozenset[Placing]:
    """Remove each placement for which another one has a subset of its meetings left and of its busy agents."""
    kept: list[Placing] = []
    for left, busy in sorted(set(placings), key=lambda placing: (placing[0].bit_count(), len(placing[1]))):
        if not any(not less & ~left and set(others) <= set(busy) for less, others in kept):
            kept.append((left, busy))
    return frozenset(kept)
