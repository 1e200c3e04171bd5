"""What a plan can see: the smallest true difference between two models that it tells apart four times of five.

For T tasks that both play, with n attempts each at every task (seeds times k):
(t(1 - alpha/2) + t(power)) * sqrt((w^2 + 2 v / n) / T), t at T - 1 degrees; w is the deviation of true differences over tasks,
v the variance of attempts at one task (Miller 2024, arXiv:2411.00640). More attempts shrink the second term only: past some
point a plan needs more tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.report.evidence import Group
from harness.report.statistics import student

BETWEEN, WITHIN = 0.15, 0.15
"""Assumed where nothing is measured: the deviation of true differences over tasks, the variance of attempts at one task."""


def mde(
    tasks: int, attempts: int, *, power: float = 0.8, alpha: float = 0.05, between: float = BETWEEN, within: float = WITHIN
) -> float | None:
    """The difference that such a plan sees, in 0..1; `attempts` are seeds times k at each task. None for fewer than two tasks.

    Pass the tasks and attempts of the run at hand, never those of the registry. More than 1 means that it can see nothing.
    """
    if tasks < 2:
        return None
    quantiles = student(tasks - 1, 1 - alpha / 2) + student(tasks - 1, power)
    return float(quantiles * math.sqrt((between**2 + 2 * within / attempts) / tasks))


def mde_words(tasks: int, attempts: int) -> str:
    """A sentence for a person: what this plan can see."""
    seen = mde(tasks, attempts)
    near = "any two models" if seen is None or seen >= 1 else f"models that differ by less than about {100 * seen:.0f} points"
    one = "task x" if tasks == 1 else "tasks x"
    return f"{tasks} {one} {attempts} {'attempt' if attempts == 1 else 'attempts'} do not tell {near} apart"


def plan_words(groups: Sequence[Group]) -> list[str]:
    """A sentence for each number of attempts among the rows that planned most tasks: what these plans can see."""
    most = max((len(group.planned) for group in groups), default=0)
    widest = {max(1, len(group.seeds)) * group.attempts for group in groups if len(group.planned) == most}
    return [mde_words(most, attempts) for attempts in sorted(widest)]
