"""How hard a task is to agree on, on an absolute scale: the share of its slots that a meeting finds open.

1. `total` is the number of ways to give the meetings different slots, F the number of those that are possible (specification
   5.5). s = (F / total)^(1 / meetings) is the share of slots that is open to one meeting on average; without the root a task
   would count as harder merely for having more meetings.
2. Only blocked errands close slots, so F / total measures how the blocked slots of the calendars overlap. A task without
   blocked errands has s = 1 whatever else is in it, and this scale says nothing of its difficulty. What costs add is computed
   separately (`pressure`) and does not change the level.
3. The thresholds are constants and do not depend on other candidates, so `hard` means the same in every suite. They divide
   6,000 canonical candidates (five agents, densities 0.6, 0.8, 1.0 by chance) into 34 % easy, 31 % medium and 35 % hard; the
   quartiles of F / total over these are 4.5e-3, 9.0e-3 and 1.9e-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from harness.errors import UsageError
from oracles.calendar import counting
from oracles.calendar.problem import tables
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.scenario import Scenario

Level = Literal["easy", "medium", "hard"]
LEVELS: tuple[Level, ...] = ("easy", "medium", "hard")

EASY_FROM = Fraction(43, 100)
HARD_BELOW = Fraction(36, 100)
"""Thresholds of s; for five meetings they mean F / total of at least 0.0147, and below 0.0060."""

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
        """The value of s, to be shown; the level is computed without rounding."""
        return float(self.d ** (1 / self.meetings))

    @property
    def level(self) -> Level:
        """By the thresholds."""
        if self._reaches(EASY_FROM):
            return "easy"
        return "medium" if self._reaches(HARD_BELOW) else "hard"

    def _reaches(self, share: Fraction) -> bool:
        """Whether s >= share, computed in whole numbers, so that it is the same on every machine."""
        return self.feasible * int(share.denominator**self.meetings) >= self.total * int(share.numerator**self.meetings)


def openness(scenario: Scenario) -> Openness:
    """Count; raises UsageError for a task that is too large to be counted."""
    problem = tables(scenario)
    counted = counting.feasible(problem)
    if counted is None:
        raise UsageError("the task is too large for its feasible schedules to be counted", hint=BY_HAND)
    return Openness(counted, counting.total(problem), len(scenario.meetings))


def pressure(scenario: Scenario, certificate: Certificate) -> dict[str, float | None]:
    """What costs add to the difficulty of a task that has a schedule, in scored units.

    `per_seat`: the optimum for each participant of each meeting (the published score of older files, there by slot).
    `lookahead`: what is lost by taking each meeting's cheapest open slot in turn; None where that gets stuck.
    """
    seats = sum(len(meeting.participants) for meeting in scenario.meetings)
    optimum, myopic = certificate.optimum, certificate.myopic
    assert optimum is not None, "a task without a schedule has no pressure"
    lost = None if myopic is None or myopic.cost is None else myopic.cost - optimum
    return {"per_seat": round(optimum / seats, 3), "lookahead": lost}


def check_pool(pool: Sequence[Openness]) -> None:
    """Raise UsageError, saying why, for candidates that cannot be told easy from hard."""
    if all(one.feasible == one.total for one in pool):
        raise UsageError(
            "no errand is blocked, so every schedule is possible and all tasks would be equally easy; "
            "--blocked must be 1 or more",
            hint=BY_HAND,
        )
    if len(pool) > 1 and len({(one.feasible, one.total) for one in pool}) == 1:
        raise UsageError(
            f"all {len(pool)} candidates have the same F / total, {pool[0].d:.3g}: no difficulty to tell", hint=BY_HAND
        )
