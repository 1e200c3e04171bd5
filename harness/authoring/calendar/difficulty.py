"""How hard a task is to agree on, on an absolute scale: the share of its slots that a meeting finds open.

1. F of the total ways to give the meetings different slots are possible (specification 5.5). s = (F / total)^(1 / meetings) is
   the share of slots that one meeting has, on average: tasks with more meetings are not harder for having more factors.
2. Only blocked errands close slots, so F / total measures how blocked calendars overlap: a task without any has s = 1
   whatever else it is, and has no difficulty to speak of here. What costs add is told beside it (`pressure`), in no bucket.
3. The thresholds are constants, not places in a pool, so that `hard` means the same in every suite. They cut 6,000 canonical
   candidates (five agents, densities 0.6, 0.8, 1.0 by chance) into 34 % easy, 31 % medium, 35 % hard; over these, F / total
   has the quartiles 4.5e-3, 9.0e-3, 1.9e-2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from harness.errors import UsageError
from oracles.calendar import counting
from oracles.calendar.problem import tables
from worlds.calendar.rules.scenario import Scenario

Level = Literal["easy", "medium", "hard"]
LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")

EASY_FROM = Fraction(43, 100)
HARD_BELOW = Fraction(36, 100)
"""Of s; for five meetings F / total from 0.0147, and below 0.0060."""

BY_HAND = "harness generate calendar with --blocked N, or with --label LEVEL to set the difficulty by hand"


@dataclass(frozen=True)
class Openness:
    """How much of a task's slots is open."""

    feasible: int
    total: int
    meetings: int

    @property
    def d(self) -> float:
        """F / total."""
        return self.feasible / self.total if self.total else 0.0

    @property
    def share(self) -> float:
        """s, for people; levels are told without rounding."""
        return float(self.d ** (1 / self.meetings))

    @property
    def level(self) -> Level:
        """By the thresholds."""
        if self._reaches(EASY_FROM):
            return "easy"
        return "medium" if self._reaches(HARD_BELOW) else "hard"

    def _reaches(self, share: Fraction) -> bool:
        """Whether s >= share, in whole numbers: the same on every machine."""
        return self.feasible * int(share.denominator**self.meetings) >= self.total * int(share.numerator**self.meetings)


def openness(scenario: Scenario) -> Openness:
    """Count; raises UsageError for a task that is too large to be counted."""
    problem = tables(scenario)
    counted = counting.feasible(problem)
    if counted is None:
        raise UsageError("the task is too large for its feasible schedules to be counted", hint=BY_HAND)
    return Openness(counted, counting.total(problem), len(scenario.meetings))


def pressure(scenario: Scenario, certificate: Mapping[str, Any]) -> dict[str, float | None]:
    """What costs add to the difficulty of a task that has a schedule, in scored units.

    `per_seat`: the optimum for each participant of each meeting (the published score of older files, there by slot).
    `lookahead`: what is lost by taking each meeting's cheapest open slot in turn; None where that gets stuck.
    """
    seats = sum(len(meeting.participants) for meeting in scenario.meetings)
    myopic = certificate["myopic"]
    lost = None if myopic is None else myopic["cost"] - certificate["optimum"]
    return {"per_seat": round(certificate["optimum"] / seats, 3), "lookahead": lost}


def check_pool(pool: Sequence[Openness]) -> None:
    """Raise UsageError, saying why, for candidates that cannot be told easy from hard."""
    if all(one.feasible == one.total for one in pool):
        raise UsageError(
            "no errand is blocked, so every schedule is possible and all tasks would be equally easy", hint=BY_HAND
        )
    if len(pool) > 1 and len({(one.feasible, one.total) for one in pool}) == 1:
        raise UsageError(
            f"all {len(pool)} candidates have the same F / total, {pool[0].d:.3g}: no difficulty to tell", hint=BY_HAND
        )
