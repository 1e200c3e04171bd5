"""Variance components of a figure - tasks, seeds, attempts - and how much more of each would reduce its error.

1. Nested analysis of variance: attempts in seeds in tasks, by the method of moments, also for unbalanced cells (Searle 1992). A
   component below 0 is set to 0. Components without repetition cannot be separated: with k = 1 attempts are part of seeds,
   and with one seed, seeds are part of tasks.
2. The variance of a mean is tasks / T + seeds / (T S) + attempts / (T S k). With n more episodes, T grows by n / (S k), S by
   n / (T k), k by n / (T S). For a paired difference the components are those of two players' differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from harness.frames import grouped
from harness.headline import Headline, headline_of
from parley.reports.evidence import Evidence, Group
from parley.reports.table import Column, Row, Table, titled

Nested = Mapping[str, Sequence[Sequence[float]]]
"""Values of attempts: a list of seeds for each task, and a list of attempts for each seed."""

BUDGET_USD, BUDGET_EPISODES = 100.0, 100
_MOST_PAIRS = 6

_COLUMNS = (
    *titled(what="Figure", tasks="Tasks", seeds="Seeds", k="k"),
    Column("of_tasks", "Var. tasks", "number", kept=True),
    Column("of_seeds", "seeds", "number", kept=True),
    Column("of_attempts", "attempts", "number", kept=True),
    Column("error", "SE, pp", "percent"),
    Column("episodes", "Buys"),
    *titled("percent", more_tasks="SE, more tasks", more_seeds="more seeds", more_attempts="more k"),
    Column("best", "Buy"),
    Column("cost", "$ an episode", "usd"),
)
_NOTES = (
    "variance components (nested ANOVA) of the headline figure, scale 0..1; SE: standard error of the mean, in points",
    "buys: episodes for the next 100 dollars, or 100 if no cost is recorded; for a difference, both players play them",
    "more tasks: no more than exist, even if they cost less than 100 dollars; - if all tasks are played",
    "a component is - if nothing was repeated: use --k 2 to separate attempts, --seeds 0-1 to separate seeds",
)
NEEDED = ("two tasks, with two graded attempts at one of them", "harness run ... --k 2, or --seeds 0-1, with two tasks or more")
"""Requirement of the table and the command that meets it; a single task has no variance between tasks."""


@dataclass(frozen=True)
class Components:
    """Variance components of one value, and the sizes of its sample."""

    tasks: float
    seeds: float | None
    """None if each task has one seed; the component is then part of `tasks`."""

    attempts: float | None
    """None if each seed has one attempt; the component is then part of `seeds` or `tasks`."""

    n_tasks: int
    n_seeds: float
    """Mean number of seeds per task."""

    k: float
    """Mean number of attempts per seed."""

    def error(self, tasks: float, seeds: float, k: float) -> float:
        """Return the standard error of the mean for these numbers of tasks, seeds per task and attempts per seed."""
        inside = (self.seeds or 0.0) / seeds + (self.attempts or 0.0) / (seeds * k)
        return math.sqrt((self.tasks + inside) / tasks)

    @property
    def now(self) -> float:
        """The standard error of the current sample."""
        return self.error(self.n_tasks, self.n_seeds, self.k)

    def bought(self, episodes: float, exist: int | None = None) -> dict[str, float]:
        """Return the standard error after this many more episodes, if they are spent on tasks, on seeds or on attempts.

        Components without repetition are left out, and so are tasks if all of the `exist` tasks are played.
        """
        tasks, seeds, k = self.n_tasks, self.n_seeds, self.k
        options: dict[str, float] = {}
        if exist is None or exist > tasks:
            options["tasks"] = self.error(min(tasks + episodes / (seeds * k), exist or math.inf), seeds, k)
        if self.seeds is not None:
            options["seeds"] = self.error(tasks, seeds + episodes / (tasks * k), k)
        if self.attempts is not None:
            options["attempts"] = self.error(tasks, seeds, k + episodes / (tasks * seeds))
        return options


def split(values: Nested) -> Components | None:
    """Return the variance components of values nested in seeds and tasks; None for fewer than two tasks."""
    cells = [[list(map(float, seed)) for seed in seeds if seed] for seeds in values.values()]
    cells = [seeds for seeds in cells if seeds]
    tasks, n_seeds, n = len(cells), sum(map(len, cells)), sum(len(seed) for seeds in cells for seed in seeds)
    if tasks < 2:
        return None
    grand = fmean(value for seeds in cells for seed in seeds for value in seed)
    between = within = error = 0.0
    for seeds in cells:
        mean = fmean(value for seed in seeds for value in seed)
        between += sum(map(len, seeds)) * (mean - grand) ** 2
        within += math.fsum(len(seed) * (fmean(seed) - mean) ** 2 for seed in seeds)
        error += math.fsum((value - fmean(seed)) ** 2 for seed in seeds for value in seed)
    attempts = error / (n - n_seeds) if n > n_seeds else None
    # coefficients of the components in the expected mean squares of an unbalanced nested design
    by_task = [sum(map(len, seeds)) for seeds in cells]
    squares = math.fsum(math.fsum(len(seed) ** 2 for seed in seeds) / size for seeds, size in zip(cells, by_task, strict=True))
    seeds_part: float | None = None
    if n_seeds > tasks:
        seeds_part = max(0.0, (within / (n_seeds - tasks) - (attempts or 0.0)) / ((n - squares) / (n_seeds - tasks)))
    of_seeds = (squares - math.fsum(len(seed) ** 2 for seeds in cells for seed in seeds) / n) / (tasks - 1)
    of_tasks = (n - math.fsum(size**2 for size in by_task) / n) / (tasks - 1)
    tasks_part = max(0.0, (between / (tasks - 1) - (attempts or 0.0) - of_seeds * (seeds_part or 0.0)) / of_tasks)
    if seeds_part is None and attempts is None:
        tasks_part = between / (tasks - 1)
    return Components(tasks_part, seeds_part, attempts, tasks, n_seeds / tasks, n / n_seeds)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - what a paper printed cannot be split
    """Return one table with the components of each row, then of the difference of two rows; none if nothing was repeated."""
    headline = headline_of(evidence.family)
    groups = [group for group in evidence.played if group.graded]
    exist = len(evidence.registry) or None
    rows = [_row(group.name, split(_values(group, headline)), _cost(group), exist) for group in groups]
    for first, second in list(combinations(groups, 2))[:_MOST_PAIRS]:
        costs = [cost for group in (first, second) if (cost := _cost(group)) is not None]
        parts = split(_differences(first, second, headline))
        rows.append(_row(f"{first.name} - {second.name}", parts, sum(costs) if len(costs) == 2 else None, exist))
    shown = [row for row in rows if row is not None]
    if not any(row["of_seeds"] is not None or row["of_attempts"] is not None for row in shown):
        return []
    title = f"Variance of {headline.title} and what more episodes buy, {evidence.family}"
    return [Table("components", title, _COLUMNS, tuple(shown), _NOTES)]


def _row(what: str, parts: Components | None, cost: float | None, exist: int | None) -> Row | None:
    if parts is None:
        return None
    episodes = BUDGET_USD / cost if cost else float(BUDGET_EPISODES)
    errors = parts.bought(episodes, exist)
    best = min(errors, key=lambda name: errors[name], default=None)
    return {
        "what": what,
        "tasks": parts.n_tasks,
        "seeds": round(parts.n_seeds, 2),
        "k": round(parts.k, 2),
        "of_tasks": parts.tasks,
        "of_seeds": parts.seeds,
        "of_attempts": parts.attempts,
        "error": parts.now,
        "episodes": int(episodes),
        **{f"more_{name}": error for name, error in errors.items()},
        "best": f"more {best}" if best and errors[best] < parts.now - 1e-12 else None,
        "cost": cost,
    }


def _values(group: Group, headline: Headline) -> dict[str, list[list[float]]]:
    seeds = [(task, [*map(headline.value, cell)]) for (task, _), cell in group.cells.items()]
    return {task: [values for _, values in mine] for task, mine in grouped(seeds, lambda seed: seed[0]).items()}


def _differences(first: Group, second: Group, headline: Headline) -> dict[str, list[list[float]]]:
    """Return the differences between two rows' attempts at each instance, paired in order."""
    theirs = second.cells
    by_task: dict[str, list[list[float]]] = {}
    for cell, mine in first.cells.items():
        pairs = zip(mine, theirs.get(cell, ()), strict=False)
        by_task.setdefault(cell[0], []).append([headline.value(one) - headline.value(other) for one, other in pairs])
    return by_task


def _cost(group: Group) -> float | None:
    """Return the mean dollars per episode over episodes with a known cost; None if there are none or the mean is 0."""
    known = [result.cost_usd for result in group.graded if result.cost_usd is not None]
    return fmean(known) or None if known else None
