"""A comparison as tables: one row a family, the tasks that differ most, categories and labels side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from harness.caveats import ended_by, setup_caveat
from harness.report.comparison import Comparison, TaskPair
from harness.report.paired import METHOD, paired_interval
from harness.report.table import Column, Row, Table

_FAMILIES = (
    Column("family", "Family"),
    Column("measure", "Measure"),
    Column("tasks", "Tasks"),
    Column("pairs", "Pairs"),
    Column("missing", "Missing", kept=True),
    Column("first", "A %", "percent"),
    Column("second", "B %", "percent"),
    Column("difference", "B - A, pp", "points", kept=True),
    Column("interval", "95 %", "interval", kept=True),
    Column("p", "p", "p", kept=True),
    Column("adjusted", "p of drop, Holm", "p"),
    Column("worst", "If missing all failed for B..A", "interval"),
    Column("sees", "Sees, pp", "points"),
    Column("k", "k"),
    Column("first_pass_k", "A pass^k", "rate"),
    Column("second_pass_k", "B pass^k", "rate"),
    Column("verdict", "Verdict"),
    Column("test", "Test", shown=False),
    Column("max_drop", "Allowed drop", "points", shown=False),
    Column("ungraded", "Ungraded", shown=False),
)
_TASKS = (
    Column("family", "Family"),
    Column("task", "Task"),
    Column("first", "A %", "percent"),
    Column("second", "B %", "percent"),
    Column("difference", "B - A, pp", "points"),
    Column("seeds", "Seeds"),
)
_CATEGORIES = (
    Column("family", "Family"),
    Column("category", "Category"),
    Column("tasks", "Tasks"),
    Column("first", "A %", "percent"),
    Column("second", "B %", "percent"),
    Column("difference", "B - A, pp", "points"),
    Column("interval", "95 %", "interval"),
)
_LABELS = (
    Column("family", "Family"),
    Column("label", "Label"),
    Column("first", "A"),
    Column("second", "B"),
    Column("change", "B - A"),
)
_MOST = 10
_MEANT = (
    "means over tasks of means over seeds of means over attempts; missing: planned instances that one side has no graded "
    "attempt at; sees: the true difference that these tasks show four times of five; verdict: Holm over the rows, at .05"
)


def tables(comparisons: Sequence[Comparison], *, every_task: bool) -> list[Table]:
    """All of them; of the tasks only those that differ most, unless `every_task`."""
    notes = (METHOD, _MEANT, *_caveats(comparisons))
    differing = [(one, pair) for one in comparisons for pair in one.tasks if every_task or abs(pair.difference) > 1e-12]
    differing.sort(key=lambda item: (-abs(item[1].difference), item[1].task))
    alike = sum(abs(pair.difference) <= 1e-12 for one in comparisons for pair in one.tasks)
    shown = differing if every_task else differing[:_MOST]
    more = (f"{len(differing)} tasks differ, {alike} do not", *([] if every_task else ["--json has them all"]))
    made = [
        Table(
            "compare", "B against A", _FAMILIES, tuple(_family(one, others=len(comparisons) > 1) for one in comparisons), notes
        ),
        Table("differing", "Tasks that differ most", _TASKS, tuple(_task(*item) for item in shown), more if shown else ()),
        Table("categories", "By category", _CATEGORIES, tuple(row for one in comparisons for row in _categories(one))),
        Table("labels", "Labels, graded episodes", _LABELS, tuple(row for one in comparisons for row in _labels(one))),
    ]
    return [table for table in made if table.rows]


def _caveats(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Yield what ended the ungraded episodes of each side, and that its set-up was at fault."""
    for one in comparisons:
        for side, group in (("A", one.first), ("B", one.second)):
            if group.ungraded:
                yield f"{one.family}, {side}: {len(group.ungraded)} ungraded: {ended_by(group.ungraded)}"
            if caveat := setup_caveat([*group.graded, *group.ungraded]):
                yield f"{one.family}, {side}: {caveat}"


def verdict(one: Comparison) -> str:
    """One family in a few words."""
    if one.mean is None:
        return "nothing in common"
    if one.is_worse:
        return "worse" if not one.max_drop else "worse than allowed"
    if one.mean > 0 and (p := one.p if one.max_drop else one.adjusted) is not None and p < 0.05:
        return "better"
    if one.max_drop:
        return "no drop beyond it shown" if one.may_be_worse else "within it"
    return "no difference shown"


def _family(one: Comparison, *, others: bool) -> Row:
    return {
        "family": one.family,
        "measure": one.headline.title,
        "tasks": len(one.tasks),
        "pairs": one.pairs,
        "missing": one.missing,
        "first": fmean(pair.first for pair in one.tasks) if one.tasks else None,
        "second": fmean(pair.second for pair in one.tasks) if one.tasks else None,
        "difference": one.mean,
        "interval": one.interval,
        "p": one.p,
        "adjusted": one.adjusted if one.max_drop or others else None,
        "worst": one.worst if one.missing or one.first.ungraded or one.second.ungraded else None,
        "sees": one.sees or None,
        "k": one.k,
        "first_pass_k": one.reliability(one.first),
        "second_pass_k": one.reliability(one.second),
        "verdict": verdict(one),
        "test": "McNemar, exact" if one.is_binary else "sign-flip permutation",
        "max_drop": one.max_drop,
        "ungraded": len(one.first.ungraded) + len(one.second.ungraded),
    }


def _task(one: Comparison, pair: TaskPair) -> Row:
    shown = {"first": pair.first, "second": pair.second, "difference": pair.difference, "seeds": pair.seeds}
    return {"family": one.family, "task": pair.task, **shown}


def _categories(one: Comparison) -> Iterator[Row]:
    """The strata of a family, where it has more than one."""
    category = {result.task_id: result.category for group in (one.first, one.second) for result in group.graded}
    names = list(dict.fromkeys(category.get(pair.task) for pair in one.tasks))
    for name in names if len(names) > 1 else ():
        mine = [pair for pair in one.tasks if category.get(pair.task) == name]
        yield {
            "family": one.family,
            "category": name,
            "tasks": len(mine),
            "first": fmean(pair.first for pair in mine),
            "second": fmean(pair.second for pair in mine),
            "difference": fmean(pair.difference for pair in mine),
            "interval": paired_interval([pair.difference for pair in mine]),
        }


def _labels(one: Comparison) -> Iterator[Row]:
    counts = [Counter(str(result.failure_label) for result in group.graded) for group in (one.first, one.second)]
    for label in sorted({*counts[0], *counts[1]}, key=lambda label: -(counts[0][label] + counts[1][label])):
        first, second = counts[0][label], counts[1][label]
        yield {
            "family": one.family,
            "label": label,
            "first": first,
            "second": second,
            "change": f"{second - first:+d}" if second != first else "0",
        }
