"""Two players on the same tasks: intervals and tests of one difference a task; numpy and scipy only.

1. The interval of the mean difference is t at T - 1 degrees over task differences, which is the task-clustered interval of a
   paired comparison (Miller 2024). Where all differences are equal there is no spread to measure: then the share of tasks that
   may differ otherwise is bounded by Clopper and Pearson's none of T.
2. The p value is of the sign-flip permutation test: were neither better, each task's difference might as well have had the
   other sign. All sign patterns are tried while there are at most 8,192 of them, else 9,999 are drawn with a fixed seed.
3. Holm's method keeps the error of a whole family of tests at alpha; p values are printed after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.report.statistics import Interval, mean_interval, scipy_stats, student

DRAWS, SEED = 9_999, 20
METHOD = (
    "95 % intervals: t over one difference a task (T - 1 degrees), paired on task and seed; p: exact McNemar where a task is "
    "one success or failure a side, else sign-flip permutation of task differences, exact up to 13 that are not 0, 9,999 draws "
    "(seed 20) beyond"
)


def paired_interval(differences: Sequence[float]) -> Interval | None:
    """The 95 % interval of a mean difference, one value in -1..1 a task; None for fewer than two tasks."""
    if len(differences) < 2:
        return None
    if max(differences) - min(differences) > 1e-12:
        low, high = mean_interval(differences) or (-1.0, 1.0)
        return max(-1.0, low), min(1.0, high)
    other, same = 1 - 0.025 ** (1 / len(differences)), differences[0]
    return same - other * (1 + same), same + other * (1 - same)


def sign_flip(differences: Sequence[float], shift: float = 0.0) -> float | None:
    """The two-sided p of the sign-flip test that the mean difference is `shift`; None for fewer than two tasks."""
    if len(differences) < 2:
        return None
    moved = np.array([value - shift for value in differences if abs(value - shift) > 1e-12])
    if len(moved) < 2:
        return 1.0
    if np.ptp(moved) < 1e-12:
        # scipy warns of constant data, and the answer is known: of all patterns only the two of one sign are as far off
        return float(2.0 ** (1 - len(moved)))
    test = scipy_stats().permutation_test(
        (moved,), np.mean, permutation_type="samples", n_resamples=DRAWS, rng=np.random.default_rng(SEED)
    )
    return float(test.pvalue)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p of each p among these; None for None."""
    order = sorted((place for place, p in enumerate(ps) if p is not None), key=lambda place: ps[place] or 0.0)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * (ps[place] or 0.0)))
        adjusted[place] = highest
    return adjusted


def seen(differences: Sequence[float]) -> float | None:
    """The true difference that these tasks would have shown four times of five, from the spread they had; None for too few."""
    tasks = len(differences)
    if tasks < 2:
        return None
    return (student(tasks - 1) + student(tasks - 1, 0.8)) * float(np.std(differences, ddof=1)) / math.sqrt(tasks)
