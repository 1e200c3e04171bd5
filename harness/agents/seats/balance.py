"""Balanced line-ups over many tasks: each member sits at each seat, and meets each fact of a seat, equally often.

1. In one task the members sit in their order, shifted by some number of places. The tasks use the shifts 0, 1, ... in turn,
which is a Latin square: over as many tasks as members, each member sits at each seat once.
2. Two tasks swap their shifts if that evens out the facts of the seats (who speaks first, how full a calendar is), until no
swap helps. The measure is the sum of squared differences between each member's count of each fact and an equal share.
3. Tasks are processed in the order of their names, so the same tasks give the same line-ups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import gcd

import numpy as np

Facts = Sequence[Mapping[str, int]]
"""Facts of each seat that are to be shared evenly: fact -> number of times that it applies to this seat in the task."""

Lineup = tuple[int, ...]
"""Number of the member at each seat."""


def balanced(facts: Mapping[str, Facts], fixed: int | None = None) -> dict[str, Lineup]:
    """Return the line-up of each task at the first attempt. All tasks must have the same number of seats.

    `fixed` is the seat of the last member, if it never changes.
    """
    tasks = sorted(facts)
    seats = range(len(facts[tasks[0]]) if tasks else 0)
    open_seats = [seat for seat in seats if seat != fixed]
    shifts = _even_shifts([[facts[task][seat] for seat in open_seats] for task in tasks], len(open_seats))
    made = {}
    for task, shift in zip(tasks, shifts, strict=True):
        held = {seat: (place + shift) % len(open_seats) for place, seat in enumerate(open_seats)}
        made[task] = tuple(held.get(seat, len(open_seats)) for seat in seats)
    return made


def step(tasks: int, moving: int) -> int:
    """Return the number of places that members move with each attempt, so that the attempts continue the square of the tasks.

    It is 1 if any other step would skip a seat, so that each member sits at each seat of a task once in `moving` attempts.
    """
    return tasks % moving if moving > 1 and gcd(tasks, moving) == 1 else 1


def _even_shifts(tasks: Sequence[Facts], members: int) -> list[int]:
    """Return the shift of each task, after swaps between tasks until none helps. Each swap is an improvement, so this ends."""
    if not (tasks and members):
        return [0] * len(tasks)
    taken = [number % members for number in range(len(tasks))]
    names = sorted({name for task in tasks for seat in task for name in seat})
    held = np.array([[[seat.get(name, 0) for name in names] for seat in task] for task in tasks])
    # for each task and shift: each member's count of each fact, times the number of members
    counts = members * np.stack([np.roll(held, shift, axis=1) for shift in range(members)], axis=1)
    # difference between the count and an equal share for each member and fact, times the number of members
    off = counts[range(len(tasks)), taken].sum(axis=0) - held.sum(axis=(0, 1))

    def swap(one: int, other: int) -> bool:
        """Swap the shifts of two tasks if that is an improvement, and return True if it was."""
        mine, theirs = taken[one], taken[other]
        change = counts[one, theirs] - counts[one, mine] + counts[other, mine] - counts[other, theirs]
        if mine == theirs or (change * (2 * off + change)).sum() >= 0:
            return False
        taken[one], taken[other] = theirs, mine
        off[:] += change
        return True

    while sum(swap(one, other) for one, other in combinations(range(len(tasks)), 2)):
        pass
    return taken
