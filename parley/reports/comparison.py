"""Comparison of two players on the same tasks: pairing, tests, conditions, tables (docs/statistics.md).

The difference is B minus A over pairs of (task, seed) that both played, with one difference per task: attempts at an instance
are averaged, then seeds, so each task counts once.

Two runs are comparable if the tasks' digests, the seeds, the key of the random values, options, budget and prompt templates are
equal. Users may allow a difference that they want to examine (`--across options`), but never one of digests, seeds or keys,
because then the two sides did not play the same instances.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from harness.errors import UsageError
from harness.frames import grouped
from harness.headline import Headline, cell_means, ended_by, headline_of, setup_caveat
from parley.reports.evidence import Cell, Conditions, Evidence, Group, pass_k
from parley.reports.table import Column, Row, Table, row_of, table_of, titled
from parley.statistics import Interval, exact_paired, mean_interval, scipy_stats, student

DRAWS, SEED = 9_999, 20
METHOD = (
    "95 % intervals: Student's t on one difference per task (T - 1 degrees of freedom), paired by task and seed; p: exact "
    "McNemar test if each side has one success or failure per task, otherwise sign-flip permutation test of the task "
    "differences (exact for up to 13 nonzero differences, else 9,999 draws with seed 20)"
)


def paired_interval(differences: Sequence[float]) -> Interval | None:
    """Return the 95 % interval of a mean difference, from one value in -1..1 per task; None for fewer than two tasks."""
    if len(differences) < 2:
        return None
    if max(differences) - min(differences) > 1e-12:
        low, high = mean_interval(differences) or (-1.0, 1.0)
        return max(-1.0, low), min(1.0, high)
    other, same = 1 - 0.025 ** (1 / len(differences)), differences[0]
    return same - other * (1 + same), same + other * (1 - same)


def sign_flip(differences: Sequence[float], shift: float = 0.0) -> float | None:
    """Return the two-sided p of the sign-flip test that the mean difference is `shift`; None for fewer than two tasks."""
    if len(differences) < 2:
        return None
    moved = np.array([value - shift for value in differences if abs(value - shift) > 1e-12])
    if len(moved) < 2:
        return 1.0
    if np.ptp(moved) < 1e-12:
        # scipy warns of constant data; p is known, because only the two sign patterns with equal signs are as extreme
        return float(2.0 ** (1 - len(moved)))
    test = scipy_stats().permutation_test(
        (moved,), np.mean, permutation_type="samples", n_resamples=DRAWS, rng=np.random.default_rng(SEED)
    )
    return float(test.pvalue)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return the p values adjusted by Holm's method; None stays None."""
    order = sorted((place for place, p in enumerate(ps) if p is not None), key=lambda place: ps[place] or 0.0)
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * (ps[place] or 0.0)))
        adjusted[place] = highest
    return adjusted


def seen(differences: Sequence[float]) -> float | None:
    """Return the true difference that these tasks detect with 80 % power, given their spread; None for too few tasks."""
    tasks = len(differences)
    if tasks < 2:
        return None
    return (student(tasks - 1) + student(tasks - 1, 0.8)) * float(np.std(differences, ddof=1)) / math.sqrt(tasks)


@dataclass(frozen=True)
class TaskPair:
    """A task that both sides played."""

    task: str
    first: float
    second: float
    seeds: int

    @property
    def difference(self) -> float:
        """Difference B minus A."""
        return self.second - self.first


@dataclass(frozen=True)
class Comparison:
    """Comparison of two set-ups in one family; `first` is A, `second` is B."""

    family: str
    headline: Headline
    first: Group
    second: Group
    tasks: tuple[TaskPair, ...]
    pairs: int
    """Instances (task, seed) on which both sides have a graded attempt."""

    missing: int
    """Planned instances on which at least one side has no graded attempt."""

    max_drop: float
    """Allowed drop of B below A, in 0..1."""

    adjusted: float | None = None
    """The p value `p_worse`, adjusted by Holm's method over all families."""

    @property
    def differences(self) -> list[float]:
        """Differences B minus A, one per task."""
        return [pair.difference for pair in self.tasks]

    @property
    def mean(self) -> float | None:
        """Mean difference B minus A, or None without common tasks."""
        return fmean(self.differences) if self.tasks else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the mean difference."""
        return paired_interval(self.differences)

    @property
    def is_binary(self) -> bool:
        """True if each task is one pair of successes and failures."""
        return self.pairs == len(self.tasks) and all({pair.first, pair.second} <= {0.0, 1.0} for pair in self.tasks)

    @property
    def p(self) -> float | None:
        """Two-sided p value of the hypothesis that neither side is better."""
        if self.is_binary and len(self.tasks) > 1:
            return exact_paired(self.differences.count(-1.0), self.differences.count(1.0))
        return sign_flip(self.differences)

    @property
    def p_worse(self) -> float | None:
        """Two-sided p value of the hypothesis that B is worse by exactly `max_drop`; for a drop, compare it with alpha / 2."""
        return self.p if not self.max_drop else sign_flip(self.differences, -self.max_drop)

    @property
    def is_worse(self) -> bool:
        """True if B is worse than allowed, and significantly so."""
        return (self.mean or 0.0) < -self.max_drop and self.adjusted is not None and self.adjusted < 0.05

    @property
    def may_be_worse(self) -> bool:
        """True if the interval does not rule out a larger drop than allowed."""
        return self.interval is None or self.interval[0] < -self.max_drop

    @property
    def k(self) -> int:
        """Number of attempts that both sides planned."""
        return min(self.first.attempts, self.second.attempts)

    def reliability(self, group: Group) -> float | None:
        """Return pass^k of one side over the instances that both sides have."""
        both = self.first.cells.keys() & self.second.cells.keys()
        return pass_k([cell for key, cell in group.cells.items() if key in both], self.k)

    @property
    def worst(self) -> tuple[float, float]:
        """B minus A if every missing or ungraded episode counted against B, and if every one counted against A."""
        cells = _planned(self.first, self.second)
        first, second = (
            {fill: _filled(group, self.headline, cells, fill) for fill in (0.0, 1.0)} for group in (self.first, self.second)
        )
        return second[0.0] - first[1.0], second[1.0] - first[0.0]


def compared(family: str, first: Group, second: Group, max_drop: float) -> Comparison:
    """Return the comparison of two groups in one family."""
    headline = headline_of(family)
    ours, theirs = cell_means(first.graded, headline), cell_means(second.graded, headline)
    by_task = grouped((cell for cell in ours if cell in theirs), lambda cell: cell[0])
    tasks = tuple(
        TaskPair(task, fmean(ours[cell] for cell in cells), fmean(theirs[cell] for cell in cells), len(cells))
        for task, cells in by_task.items()
    )
    pairs = sum(map(len, by_task.values()))
    return Comparison(family, headline, first, second, tasks, pairs, len(_planned(first, second)) - pairs, max_drop)


def with_holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p values adjusted for their number."""
    adjusted = holm([one.p_worse for one in comparisons])
    return [replace(one, adjusted=p) for one, p in zip(comparisons, adjusted, strict=True)]


def _planned(first: Group, second: Group) -> set[Cell]:
    """Return every instance that either side planned or played."""
    planned = {(task, seed) for group in (first, second) for task in group.planned for seed in group.seeds}
    return planned | first.cells.keys() | second.cells.keys()


def _filled(group: Group, headline: Headline, cells: set[Cell], fill: float) -> float:
    """Return the mean over tasks if every missing or ungraded attempt is worth `fill`."""
    graded, lost = group.cells, Counter((result.task_id, result.seed) for result in group.ungraded)

    def mean(cell: Cell) -> float:
        values = [headline.value(result) for result in graded.get(cell, ())]
        return fmean([*values, *[fill] * max(lost[cell], group.attempts - len(values), 0)])

    tasks = grouped(cells, lambda cell: cell[0]).values()
    return fmean(fmean(map(mean, mine)) for mine in tasks) if tasks else fill


ACROSS = ("options", "budget", "texts")
_NAMED = 3


class Differing(NamedTuple):
    """A condition that differs between two groups."""

    name: str
    told: str


def matched(first: Evidence, second: Evidence) -> list[tuple[Group, Group]]:
    """Return the set-ups of one family in pairs. Raises UsageError if they cannot be matched unambiguously."""
    ours, theirs = first.played, second.played
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    by_how = {group.setup.how: group for group in theirs}
    pairs = [(group, by_how[group.setup.how]) for group in ours if group.setup.how in by_how]
    if len(pairs) != len(ours) or len(pairs) != len(theirs) or len(by_how) != len(theirs):
        told = " against ".join(", ".join(group.name for group in groups) or "nothing" for groups in (ours, theirs))
        raise UsageError(
            f"not comparable: the set-ups of {first.family} cannot be paired: {told}",
            hint="harness compare with one set-up on each side: a part of a sweep is a folder of its own",
        )
    return pairs


def check(first: Evidence, second: Evidence, pairs: Sequence[tuple[Group, Group]], across: Collection[str]) -> list[Differing]:
    """Return the differences that `across` allows. Raises UsageError (exit 2) that names every other difference."""
    for name in across:
        if name not in ACROSS:
            raise UsageError(f"--across takes {', '.join(ACROSS)}, not {name!r}")
    differing = [one for a, b in pairs for one in _differing(first, a, second, b)]
    barred = [one for one in differing if one.name not in across]
    if barred:
        told = "; ".join(f"different {one.name} ({one.told})" for one in dict.fromkeys(barred))
        allowed = [one.name for one in barred if one.name in ACROSS]
        hint = "play both on the same tasks, seeds and key"
        if len(allowed) == len(barred):
            hint = "harness compare A B " + " ".join(f"--across {name}" for name in dict.fromkeys(allowed))
        raise UsageError(f"not comparable in {first.family}: {told}", hint=hint)
    return differing


def _differing(first: Evidence, a: Group, second: Evidence, b: Group) -> Iterator[Differing]:
    ours, theirs = a.planned, b.planned
    changed = sorted(task for task in ours.keys() & theirs.keys() if ours[task] != theirs[task])
    if changed:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        yield Differing("digests", f"of {', '.join(changed[:_NAMED])}{more}")
    if ours and theirs and not ours.keys() & theirs.keys():
        yield Differing("tasks", f"{len(ours)} and {len(theirs)}, none in common")
    if a.seeds != b.seeds:
        yield Differing("seeds", f"{_seeds(a)} and {_seeds(b)}")
    keys = [{result.key_digest for result in (*group.graded, *group.ungraded)} for group in (a, b)]
    if keys[0] != keys[1]:
        yield Differing("keys", " and ".join("+".join(sorted(key[:8] for key in some)) for some in keys))
    for name, told in {
        "options": [_conditions(evidence, group)[0] for evidence, group in ((first, a), (second, b))],
        "budget": [_conditions(evidence, group)[1] for evidence, group in ((first, a), (second, b))],
        "texts": [sorted({plan.templates[:8] for plan in group.plans if plan.templates}) for group in (a, b)],
    }.items():
        if told[0] != told[1]:
            yield Differing(name, " and ".join(", ".join(words) or "the default" for words in told))


def _seeds(group: Group) -> str:
    seeds = sorted(group.seeds)
    whole = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]}-{seeds[-1]}" if whole else ",".join(map(str, seeds)) or "none"


def _conditions(evidence: Evidence, group: Group) -> tuple[list[str], list[str]]:
    """Return the options and budgets that are not the default; all episodes of a group share them."""
    results = [*group.graded, *group.ungraded]
    conditions = Conditions(group.plans[0], evidence.registry, results)
    return conditions.options(results[0]), conditions.budgets()


def verdict(one: Comparison) -> str:
    """Return the result of one family in a few words."""
    if one.mean is None:
        return "nothing in common"
    if one.is_worse:
        return "worse" if not one.max_drop else "worse than allowed"
    if one.mean > 0 and (p := one.p if one.max_drop else one.adjusted) is not None and p < 0.05:
        return "better"
    if one.max_drop:
        return "no drop beyond it shown" if one.may_be_worse else "within it"
    return "no difference shown"


def _ungraded(one: Comparison) -> int:
    return len(one.first.ungraded) + len(one.second.ungraded)


def _worst(one: Comparison) -> tuple[float, float] | None:
    return one.worst if one.missing or _ungraded(one) else None


_FAMILIES = (
    Column("family", "Family", of=lambda one: one.family),
    Column("measure", "Measure", of=lambda one: one.headline.title),
    Column("tasks", "Tasks", of=lambda one: len(one.tasks)),
    Column("pairs", "Pairs", of=lambda one: one.pairs),
    Column("missing", "Missing", kept=True, of=lambda one: one.missing),
    Column("first", "A %", "percent", of=lambda one: fmean(pair.first for pair in one.tasks) if one.tasks else None),
    Column("second", "B %", "percent", of=lambda one: fmean(pair.second for pair in one.tasks) if one.tasks else None),
    Column("difference", "B - A, pp", "points", kept=True, of=lambda one: one.mean),
    Column("interval", "95 %", "interval", kept=True, of=lambda one: one.interval),
    Column("p", "p", "p", kept=True, of=lambda one: one.p),
    Column("adjusted", "p of drop, Holm", "p"),
    Column("worst", "If missing all failed for B..A", "interval", of=_worst),
    Column("sees", "Sees, pp", "points", of=lambda one: seen(one.differences) or None),
    Column("k", "k", of=lambda one: one.k),
    Column("first_pass_k", "A pass^k", "rate", of=lambda one: one.reliability(one.first)),
    Column("second_pass_k", "B pass^k", "rate", of=lambda one: one.reliability(one.second)),
    Column("verdict", "Verdict", of=verdict),
    Column("test", "Test", shown=False, of=lambda one: "McNemar, exact" if one.is_binary else "sign-flip permutation"),
    Column("max_drop", "Allowed drop", "points", shown=False, of=lambda one: one.max_drop),
    Column("ungraded", "Ungraded", shown=False, of=_ungraded),
)
_TASKS = (
    Column("family", "Family"),
    Column("task", "Task", of=lambda pair: pair.task),
    Column("first", "A %", "percent", of=lambda pair: pair.first),
    Column("second", "B %", "percent", of=lambda pair: pair.second),
    Column("difference", "B - A, pp", "points", of=lambda pair: pair.difference),
    Column("seeds", "Seeds", of=lambda pair: pair.seeds),
)
_CATEGORIES = (
    *titled(family="Family", category="Category"),
    Column("tasks", "Tasks", of=len),
    Column("first", "A %", "percent", of=lambda pairs: fmean(pair.first for pair in pairs)),
    Column("second", "B %", "percent", of=lambda pairs: fmean(pair.second for pair in pairs)),
    Column("difference", "B - A, pp", "points", of=lambda pairs: fmean(pair.difference for pair in pairs)),
    Column("interval", "95 %", "interval", of=lambda pairs: paired_interval([pair.difference for pair in pairs])),
)
_LABELS = titled(family="Family", label="Label", first="A", second="B", change="B - A")
_MOST = 10
_MEANT = (
    "A, B: means over attempts, then over seeds, then over tasks; missing: planned instances without a graded attempt on one "
    "side; sees: the true difference that these tasks detect with a power of 80 %; verdict: Holm's method over the rows, at .05"
)


def tables(comparisons: Sequence[Comparison], *, every_task: bool) -> list[Table]:
    """Return all tables; the table of tasks has only those that differ most, unless `every_task`."""
    notes = (METHOD, _MEANT, *_caveats(comparisons))
    differing = [(one, pair) for one in comparisons for pair in one.tasks if every_task or abs(pair.difference) > 1e-12]
    differing.sort(key=lambda item: (-abs(item[1].difference), item[1].task))
    alike = sum(abs(pair.difference) <= 1e-12 for one in comparisons for pair in one.tasks)
    shown = differing if every_task else differing[:_MOST]
    more = (f"{len(differing)} tasks differ, {alike} do not", *([] if every_task else ["--json has them all"]))
    rows = (
        {**row_of(_FAMILIES, one), "adjusted": one.adjusted if one.max_drop or len(comparisons) > 1 else None}
        for one in comparisons
    )
    pairs = ({"family": one.family, **row_of(_TASKS, pair)} for one, pair in shown)
    return [
        *table_of("compare", "B against A", _FAMILIES, rows, notes),
        *table_of("differing", "Tasks that differ most", _TASKS, pairs, more),
        *table_of("categories", "By category", _CATEGORIES, (row for one in comparisons for row in _categories(one))),
        *table_of("labels", "Labels, graded episodes", _LABELS, (row for one in comparisons for row in _labels(one))),
    ]


def _caveats(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield the causes of the ungraded episodes of each side, and the caveat if its set-up was at fault."""
    for one in comparisons:
        for side, group in (("A", one.first), ("B", one.second)):
            if group.ungraded:
                yield f"{one.family}, {side}: {len(group.ungraded)} ungraded: {ended_by(group.ungraded)}"
            if caveat := setup_caveat([*group.graded, *group.ungraded]):
                yield f"{one.family}, {side}: {caveat}"


def _categories(one: Comparison) -> Iterator[Row]:
    """Yield a row for each category of a family that has more than one."""
    category = {result.task_id: result.category for group in (one.first, one.second) for result in group.graded}
    by_name = grouped(one.tasks, lambda pair: category.get(pair.task))
    for name, pairs in by_name.items() if len(by_name) > 1 else ():
        yield {"family": one.family, "category": name, **row_of(_CATEGORIES, pairs)}


def _labels(one: Comparison) -> Iterator[Row]:
    counts = [Counter(str(result.failure_label) for result in group.graded) for group in (one.first, one.second)]
    for label in sorted({*counts[0], *counts[1]}, key=lambda label: (-(counts[0][label] + counts[1][label]), label)):
        first, second = counts[0][label], counts[1][label]
        change = f"{second - first:+d}" if second != first else "0"
        yield {"family": one.family, "label": label, "first": first, "second": second, "change": change}
