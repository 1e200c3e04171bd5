"""Balanced line-ups over many tasks: each member sits at each seat, and meets each fact of a seat, equally often.

1. In one task the members sit in their order, shifted by some number of places. The tasks use the shifts 0, 1, ... in turn,
which is a Latin square: over as many tasks as members, each member sits at each seat once.
2. The assignment of shifts to tasks is free, so it is chosen by the facts of the seats (who speaks first, how full a calendar
is): two tasks swap their shifts if that evens out the counts of members, until no swap helps. The balance of the seats does not
change. The measure is the sum of squared differences between each member's count of each fact and an equal share.
3. A member with a fixed seat is left out, and the others share the other seats.

The result is deterministic: tasks are processed in the order of their names, so the same tasks give the same line-ups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import gcd

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
    shifts = _Shifts([[facts[task][seat] for seat in open_seats] for task in tasks], len(open_seats))
    shifts.even_out()
    made = {}
    for task, shift in zip(tasks, shifts.taken, strict=True):
        held = {seat: (place + shift) % len(open_seats) for place, seat in enumerate(open_seats)}
        made[task] = tuple(held.get(seat, len(open_seats)) for seat in seats)
    return made


def step(tasks: int, moving: int) -> int:
    """Return the number of places that members move with each attempt, so that the attempts continue the square of the tasks.

    It is 1 if another step would leave out a seat: then each member sits at each seat of a task once in `moving` attempts.
    """
    return tasks % moving if moving > 1 and gcd(tasks, moving) == 1 else 1


class _Shifts:
    """Shift of each task, and the imbalance of the members' counts."""

    def __init__(self, tasks: Sequence[Facts], members: int) -> None:
        self._members = members
        self.taken = [number % members for number in range(len(tasks))] if members else [0] * len(tasks)
        names = sorted({name for task in tasks for seat in task for name in seat})
        self._counts = [[self._shared(task, names, shift) for shift in range(members)] for task in tasks]
        """By task and shift: each member's count of each fact, times the number of members."""

        equal = [sum(seat.get(name, 0) for task in tasks for seat in task) for name in names] * members
        sums = [self._counts[task][shift] for task, shift in enumerate(self.taken)]
        self._off = [sum(column) - share for column, share in zip(zip(*sums, strict=True), equal, strict=True)]
        """Difference between the count and an equal share for each member and fact, times the number of members."""

    def _shared(self, task: Facts, names: Sequence[str], shift: int) -> list[int]:
        held = [task[(member - shift) % self._members] for member in range(self._members)]
        return [seat.get(name, 0) * self._members for seat in held for name in names]

    def even_out(self) -> None:
        """Swap shifts between tasks until no swap helps. Each swap is an improvement, so this terminates."""
        while sum(self._swap(one, other) for one, other in combinations(range(len(self.taken)), 2)):
            pass

    def _swap(self, one: int, other: int) -> bool:
        """Swap the shifts of two tasks if that is an improvement, and return True if it was."""
        mine, theirs = self.taken[one], self.taken[other]
        if mine == theirs:
            return False
        first, second = self._counts[one], self._counts[other]
        changes = [
            after - before + there - here
            for before, after, here, there in zip(first[mine], first[theirs], second[theirs], second[mine], strict=True)
        ]
        if sum(change * (2 * off + change) for change, off in zip(changes, self._off, strict=True)) >= 0:
            return False
        self.taken[one], self.taken[other] = theirs, mine
        self._off = [off + change for off, change in zip(self._off, changes, strict=True)]
        return True
