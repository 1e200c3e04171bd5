"""Steps in a row, numbered from 1, each of which must be taken once and in order.

A step ahead of the next one is MISSING_CONSTRAINT, since an earlier one was omitted; a repeated step is VERSION_CONFLICT. A
number that no step has is unreadable and breaks no contract.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.contract.labels import Label
from worlds.core.calls import Unreadable, Violation


@dataclass
class Row:
    """Number of steps, and number of steps taken."""

    length: int
    taken: int = 0

    @property
    def numbers(self) -> range:
        """All numbers, in order."""
        return range(1, self.length + 1)

    def number(self, text: str) -> int:
        """Return the number that a path names; raises Unreadable for anything but 1 to `length` in plain digits."""
        known = {str(number): number for number in self.numbers}
        if text not in known:
            raise Unreadable(f"numbers go from 1 to {self.length}")
        return known[text]

    def check_turn(self, number: int) -> None:
        """Raise unless this step is the next one."""
        if number <= self.taken:
            raise Violation(Label.VERSION_CONFLICT, "this step was taken before", status=409)
        self.require(number - 1)

    def require(self, steps: int) -> None:
        """Raise MISSING_CONSTRAINT unless at least `steps` steps were taken."""
        if self.taken < steps:
            raise Violation(Label.MISSING_CONSTRAINT, "an earlier step must come first", field="step")

    @property
    def done(self) -> bool:
        """True if all steps were taken."""
        return self.taken == self.length
