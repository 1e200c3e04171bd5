"""B minus A on what both played: pairs of (task, seed), one difference a task, and what is missing on either side.

1. Attempts at an instance are averaged, then seeds, so a task counts once. The figure is what the family's paper ranks by.
2. Main figures are of graded pairs. Beside them the worst and the best case: each episode that is missing or ungraded counted
   as 0 for the one side and 1 for the other.
3. The test is McNemar's exact one where every task is one pair of successes and failures, else the sign-flip permutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from harness.headline import Headline, cell_means, headline_of
from harness.records import Result
from harness.report.evidence import Cell, Group
from harness.report.paired import holm, paired_interval, seen, sign_flip
from harness.report.reliability import pass_k
from harness.report.statistics import Interval, exact_paired


@dataclass(frozen=True)
class TaskPair:
    """One task that both played."""

    task: str
    first: float
    second: float
    seeds: int

    @property
    def difference(self) -> float:
        """B minus A."""
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Two set-ups in one family; `first` is A, `second` is B."""

    family: str
    headline: Headline
    first: Group
    second: Group
    tasks: tuple[TaskPair, ...]
    pairs: int
    """Instances (task, seed) that both have a graded attempt at."""

    missing: int
    """Planned instances that they do not both have."""

    max_drop: float
    """How much worse B may be, in 0..1."""

    adjusted: float | None = None
    """The p of `p_worse`, by Holm's method over all families."""

    @property
    def differences(self) -> list[float]:
        """B minus A, one a task."""
        return [pair.difference for pair in self.tasks]

    @property
    def mean(self) -> float | None:
        """B minus A."""
        return fmean(self.differences) if self.tasks else None

    @property
    def interval(self) -> Interval | None:
        """Of the mean difference."""
        return paired_interval(self.differences)

    @property
    def is_binary(self) -> bool:
        """Whether each task is one pair of successes and failures."""
        return self.pairs == len(self.tasks) and all({pair.first, pair.second} <= {0.0, 1.0} for pair in self.tasks)

    @property
    def p(self) -> float | None:
        """Two-sided, that neither is better."""
        if self.is_binary and len(self.tasks) > 1:
            return exact_paired(self.differences.count(-1.0), self.differences.count(1.0))
        return sign_flip(self.differences)

    @property
    def p_worse(self) -> float | None:
        """That B is just as much worse as it may be; two-sided, so a drop counts at half of alpha."""
        return self.p if not self.max_drop else sign_flip(self.differences, -self.max_drop)

    @property
    def is_worse(self) -> bool:
        """Whether B is worse than allowed, beyond chance."""
        return (self.mean or 0.0) < -self.max_drop and self.adjusted is not None and self.adjusted < 0.05

    @property
    def may_be_worse(self) -> bool:
        """Whether a larger drop than allowed is not ruled out."""
        return self.interval is None or self.interval[0] < -self.max_drop

    @property
    def sees(self) -> float | None:
        """The true difference that these tasks would have shown four times of five."""
        return seen(self.differences)

    @property
    def k(self) -> int:
        """Attempts that both planned."""
        return min(self.first.attempts, self.second.attempts)

    def reliability(self, group: Group) -> float | None:
        """pass^k of one side over the instances that both have."""
        both = self.first.cells.keys() & self.second.cells.keys()
        return pass_k([cell for key, cell in group.cells.items() if key in both], self.k)

    @property
    def worst(self) -> tuple[float, float]:
        """B minus A where all that is missing or ungraded went against B, and where it went against A."""
        return (
            _filled(self.second, self.headline, self._cells, 0.0) - _filled(self.first, self.headline, self._cells, 1.0),
            _filled(self.second, self.headline, self._cells, 1.0) - _filled(self.first, self.headline, self._cells, 0.0),
        )

    @property
    def _cells(self) -> set[Cell]:
        return _planned(self.first, self.second)


def compared(family: str, first: Group, second: Group, max_drop: float) -> Comparison:
    """One family of two sides."""
    headline = headline_of(family)
    ours, theirs = cell_means(first.graded, headline), cell_means(second.graded, headline)
    by_task: dict[str, list[Cell]] = {}
    for cell in ours:
        if cell in theirs:
            by_task.setdefault(cell[0], []).append(cell)
    tasks = tuple(
        TaskPair(task, fmean(ours[cell] for cell in cells), fmean(theirs[cell] for cell in cells), len(cells))
        for task, cells in by_task.items()
    )
    pairs = sum(map(len, by_task.values()))
    return Comparison(family, headline, first, second, tasks, pairs, len(_planned(first, second)) - pairs, max_drop)


def with_holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """These with their p adjusted for there being so many."""
    adjusted = holm([one.p_worse for one in comparisons])
    return [replace(one, adjusted=p) for one, p in zip(comparisons, adjusted, strict=True)]


def _planned(first: Group, second: Group) -> set[Cell]:
    """Every instance that either planned or played."""
    planned = {(task, seed) for group in (first, second) for task in group.planned for seed in group.seeds}
    return planned | first.cells.keys() | second.cells.keys()


def _filled(group: Group, headline: Headline, cells: set[Cell], fill: float) -> float:
    """The mean over tasks where every attempt that is missing or ungraded is worth `fill`."""
    lost: dict[Cell, list[Result]] = {}
    for result in group.ungraded:
        lost.setdefault((result.task_id, result.seed), []).append(result)
    graded = group.cells
    by_task: dict[str, list[float]] = {}
    for cell in cells:
        values = [headline.value(result) for result in graded.get(cell, ())]
        gaps = max(len(lost.get(cell, ())), group.attempts - len(values), 0)
        by_task.setdefault(cell[0], []).append(fmean([*values, *[fill] * gaps]))
    return fmean(map(fmean, by_task.values())) if by_task else fill
