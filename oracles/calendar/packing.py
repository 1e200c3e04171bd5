"""How several questions fit into the numbers of one dynamic programme, whose steps only add numbers and keep the least.

1. A column's number is a first part, shifted up, plus a second part: least by the first, then by the second.
2. The slots of the items in order are the digits of one number, which is least for the lexicographically smallest vector. As
   many digits as there is room for are the second part of a column; the others go into further levels of digits.
3. Everything is 64 bits wide. Where costs alone are too large for that, Python's own numbers of any size take over, and one
   level is enough.

An example, as the tests have it: one agent, two meetings, and four slots, of which slot 1 costs 3, slot 3 costs 2, and the
others nothing. A digit takes 2 bits, the second part 56. In the column of the optimum, three of the schedules are

    slots (0, 3) at a cost of 2:  2 << 56 | 0b0011
    slots (1, 2) at a cost of 3:  3 << 56 | 0b0110
    slots (2, 3) at a cost of 2:  2 << 56 | 0b1011

and the least number is the first: no other is cheaper, and of the two that cost 2 its vector of slots is the smaller one.
Shifting it down gives the cost back, and cutting off its lowest digits, two bits each, the slots 0 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oracles.calendar.problem import LARGEST, Problem, Table
from oracles.calendar.states import Graph

BITS = LARGEST.bit_length() - 1
BEST, WORST, AGENTS = 0, 1, 2
"""Columns: the optimum, the worst schedule, each agent's least cost and each one's greatest, what the other scale says."""


@dataclass(frozen=True)
class Packing:
    """The columns' weights for a problem, and how to read the numbers that they add up to."""

    problem: Problem
    shown: Problem | None
    """The problem at the prices that are shown; None where those are the scored ones."""

    @cached_property
    def digit(self) -> int:
        """Bits of one slot."""
        return max(1, (self.problem.slots - 1).bit_length())

    @cached_property
    def second(self) -> int:
        """Bits of a second part that is a cost."""
        return max(self.problem.most, self.shown.most if self.shown else 0).bit_length()

    @cached_property
    def wide(self) -> bool:
        """Whether 64 bits are too few."""
        return self.second + self.problem.most.bit_length() >= BITS

    @cached_property
    def shift(self) -> int:
        """Bits of the second part."""
        if self.wide:
            return max(self.second, self.digit * self.problem.count)
        return BITS - 1 - self.problem.most.bit_length()

    @cached_property
    def unreachable(self) -> int:
        """Numbers from here on mean that there is none."""
        return 1 << (self.second + self.shift + 2) if self.wide else LARGEST

    @property
    def infinity(self) -> int:
        """What stands for none; two of them can be added, and what is subtracted from one leaves it unreachable."""
        return self.unreachable << 1

    @property
    def dtype(self) -> Any:
        """What the numbers are."""
        return object if self.wide else np.int64

    @cached_property
    def levels(self) -> list[range]:
        """The items whose slots are digits of each level."""
        count, room, levels = self.problem.count, self.shift // self.digit, []
        done = 0
        while done < count:
            levels.append(range(done, min(count, done + room)))
            done, room = done + room, BITS // self.digit
        return levels

    @property
    def columns(self) -> int:
        """How many questions are asked at once."""
        return AGENTS + 2 * self.problem.agents + (2 if self.shown else 0)

    def weights(self, graph: Graph) -> Table:
        """(slots, groups, columns): what a group that starts in a slot adds to each column; infinity where it may not."""
        problem, agents = self.problem, self.problem.agents
        items = np.zeros((problem.count, problem.slots, self.columns), self.dtype)
        items[:] = (problem.prices.astype(self.dtype) << self.shift)[:, :, None]
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

    def deeper(self, graph: Graph) -> list[Table]:
        """(slots, groups) for each further level of digits."""
        return [(graph.members @ self._digits(level)).T for level in range(1, len(self.levels))]

    def vectors(self, numbers: list[Table]) -> Table:
        """The slots in a last axis, from the numbers of each level."""
        slots = np.zeros((*numbers[0].shape, self.problem.count), np.intp)
        for number, items in zip(numbers, self.levels, strict=True):
            for item in items:
                slots[..., item] = number >> self._place(items, item) & ((1 << self.digit) - 1)
        return slots

    def _digits(self, level: int) -> Table:
        """(n, slots): the digit that an item in a slot is in this level; 0 for the items of other levels."""
        digits = np.zeros((self.problem.count, self.problem.slots), self.dtype)
        for item in self.levels[level]:
            digits[item] = np.arange(self.problem.slots).astype(self.dtype) << self._place(self.levels[level], item)
        return digits

    def _place(self, items: range, item: int) -> int:
        return self.digit * (items.stop - 1 - item)
