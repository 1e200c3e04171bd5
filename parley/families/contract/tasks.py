"""Tables by task: pass rates, catalogue, quadrants, outliers, and variance of attempts (docs/reports.md).

Pass rates are grouped by category (paper, Tables 11 and 12; `both` is the paper's Hybrid), by quadrant of pressure, and by
contract pattern (Table 6). Means are unweighted, over the tasks that were played. Outliers (Appendix Q) are tasks that no model
passed, and tasks on which the pass rates of the models correlate negatively with their means. A cell of the tables of variance
(Appendix L, Table 8) is one model's attempts at one (task, seed), two or more of them graded; it is deterministic if all have
the same label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from harness.records import Result
from parley.families.contract.published import MARK, TaskKind, catalogue, exact_rates, numbers, source, task_rates
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, row_of, table_of, titled
from parley.statistics import Interval, rank_correlation, share_interval

GROUPS = ("validity", "integrity", "both", "none")
_FIRST = (*titled(category="Family", task="Task"), Column("row", "Row", shown=False))
VALUES = frozenset({"task", "mean"})
"""The values of a row's `row` whose cells are pass rates."""


@dataclass(frozen=True)
class TaskSeries:
    """A column: a name and a rate for some tasks."""

    name: str
    rates: Mapping[str, float]
    exact: Mapping[str, float]
    """The rates from which means are computed; rounded published rates are converted back to thirds."""

    attempts: Mapping[str, int]
    """Number of attempts behind each rate."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return our columns with the same models as published, then the other published columns; none without first tries."""
    if not evidence.played:
        return []
    ours, rest = series(evidence, published=published)
    categories = _categories(evidence)
    made = [_table("tasks", f"Pass rate by task, {evidence.family}", evidence.tasks, categories, ours)]
    if rest:
        known = {task: category for category, tasks in numbers()["categories"].items() for task in tasks}
        made.append(_table("tasks-published", "Pass rate by task, published", list(known), known, rest))
    return made


def series(evidence: Evidence, *, published: bool) -> tuple[list[TaskSeries], list[TaskSeries]]:
    """Return our columns, each followed by the published one of the same model; then, on request, the other published ones."""
    theirs = {model: _published(model) for model in task_rates()} if published else {}
    ours, beside = [], set[str]()
    for group in evidence.played:
        attempts = {task: len(mine) for task, mine in group.tasks.items()}
        ours.append(TaskSeries(group.name, group.rates, group.rates, attempts))
        if group.title in theirs and group.title not in beside:
            beside.add(group.title)
            ours.append(theirs[group.title])
    left = [model for model in theirs if model not in beside and evidence.breadth.every_published]
    return ours, [theirs[model] for model in left]


def _published(model: str) -> TaskSeries:
    rates = task_rates()[model]
    return TaskSeries(f"{model} ({MARK})", rates, exact_rates(model), dict.fromkeys(rates, int(numbers()["attempts"])))


def _categories(evidence: Evidence) -> dict[str, str]:
    """Return the category of each task: as recorded, else from the registry."""
    listed = {task: entry.parley.category for task, entry in evidence.registry.items() if entry.parley}
    recorded = {result.task_id: result.category for group in evidence.played for result in (*group.graded, *group.ungraded)}
    return {task: category or "none" for task, category in {**listed, **recorded}.items()}


def _table(name: str, title: str, tasks: Sequence[str], categories: Mapping[str, str], every: Sequence[TaskSeries]) -> Table:
    columns = (*_FIRST, *(Column(one.name, one.name, "rate") for one in every))
    notes = ["mean reward over the graded attempts at each task; means and intervals are over the tasks played; both = Hybrid"]
    if any(one.name.endswith(f"({MARK})") for one in every):
        notes.append(source("Tables 11 and 12"))
    return Table(name, title, columns, tuple(_rows(tasks, categories, every)), tuple(notes))


def _rows(tasks: Sequence[str], categories: Mapping[str, str], every: Sequence[TaskSeries]) -> Iterator[Row]:
    for category in GROUPS:
        mine = [task for task in tasks if categories.get(task, "none") == category]
        for task in mine:
            yield {"category": category, "task": task, "row": "task", **{one.name: one.rates.get(task) for one in every}}
        if mine:
            yield from _summary(category, mine, every)
    yield from _summary("all", tasks, every)


def _summary(category: str, tasks: Sequence[str], every: Sequence[TaskSeries]) -> Iterator[Row]:
    """Yield the mean of each column, the number of tasks if columns differ in it, and the interval."""
    counts = {one.name: sum(task in one.exact for task in tasks) for one in every}
    same = set(counts.values()) == {len(tasks)}
    mean = f"mean of {len(tasks)}" if same else "mean of tasks played"
    yield {"category": category, "task": mean, "row": "mean", **means(tasks, every)}
    if not same:
        yield {"category": category, "task": "tasks played", "row": "tasks", **{name: str(n) for name, n in counts.items()}}
    intervals = {one.name: _interval(tasks, one) for one in every}
    if any(intervals.values()):
        yield {"category": category, "task": "95 %", "row": "interval", **intervals}


def _interval(tasks: Sequence[str], one: TaskSeries) -> Interval | None:
    played = [task for task in tasks if task in one.exact]
    return share_interval([[one.exact[task]] for task in played], sum(one.attempts[task] for task in played))


def means(tasks: Sequence[str], every: Sequence[TaskSeries]) -> dict[str, float | None]:
    """Return the mean of each column over those of these tasks for which it has a rate."""
    rates_by_name = {one.name: [one.exact[task] for task in tasks if task in one.exact] for one in every}
    return {name: sum(rates) / len(rates) if rates else None for name, rates in rates_by_name.items()}


_CATALOGUE = (
    *titled(task="Task", difficulty="Difficulty", quadrant="Quadrant", pattern="Contract pattern"),
    Column("published", f"Otherwise as {MARK}"),
)
_BY_FIRST = titled(by="By", kind="Kind", tasks="Tasks")
_UNKNOWN = "none"
_DIFFICULTIES = ("easy", "medium", "hard", "very_hard", "extreme", _UNKNOWN)


def catalogue_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return Table 6 for the tasks of these runs and their registry; none without first tries."""
    if not evidence.played:
        return []
    rows = sorted(_catalogue(task_kinds(evidence), published=published), key=_order)
    counts = {name: sum(row["quadrant"] == name for row in rows) for name in ("Q1", "Q2", "Q3", "Q4")}
    notes = [", ".join(f"{count} in {name}" for name, count in counts.items() if count)]
    notes += [source("Table 6")] if published else []
    return [Table("catalogue", f"Catalogue of tasks, {evidence.family}", _CATALOGUE, tuple(rows), tuple(notes))]


def quadrant_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return our columns with the same models as published, then the other published columns; none without first tries."""
    if not evidence.played:
        return []
    ours, rest = series(evidence, published=published)
    made = [_by_kind("quadrants", f"Pass rate by quadrant and pattern, {evidence.family}", task_kinds(evidence), ours)]
    if rest:
        made.append(_by_kind("quadrants-published", "Pass rate by quadrant and pattern, published", catalogue(), rest))
    return made


def task_kinds(evidence: Evidence) -> dict[str, TaskKind]:
    """Return the classification of each task: that of the registry, or else the published one."""
    kinds = {task: catalogue().get(task, TaskKind(_UNKNOWN, _UNKNOWN, _UNKNOWN)) for task in evidence.tasks}
    for task in kinds:
        if (entry := evidence.registry.get(task)) and (ours := entry.parley):
            kinds[task] = TaskKind(ours.difficulty, ours.quadrant or _UNKNOWN, ours.pattern or _UNKNOWN)
    return kinds


def _catalogue(kinds: Mapping[str, TaskKind], *, published: bool) -> Iterator[Row]:
    for task, kind in kinds.items():
        printed = catalogue().get(task, kind) if published else kind
        yield {"task": task, **kind._asdict(), "published": None if printed == kind else ", ".join(printed)}


def _order(row: Row) -> tuple[str, str, int, str]:
    return str(row["quadrant"]), str(row["pattern"]), _DIFFICULTIES.index(str(row["difficulty"])), str(row["task"])


def _by_kind(name: str, title: str, kinds: Mapping[str, TaskKind], every: Sequence[TaskSeries]) -> Table:
    rows = [row for by in ("quadrant", "pattern") for row in _kinds_of(by, kinds, every)]
    whole: Row = {"by": "all", "kind": "all", "tasks": len(kinds), **means(list(kinds), every)}
    notes = ["mean over tasks of the mean reward over graded attempts, of the tasks played"]
    if any(one.name.endswith(f"({MARK})") for one in every):
        notes.append(f"{source('Tables 6, 11 and 12')}; means derived from them here")
    columns = (*_BY_FIRST, *(Column(one.name, one.name, "rate") for one in every))
    return Table(name, title, columns, (*rows, whole), tuple(notes))


def _kinds_of(by: str, kinds: Mapping[str, TaskKind], every: Sequence[TaskSeries]) -> Iterator[Row]:
    for kind in sorted({getattr(one, by) for one in kinds.values()}):
        mine = [task for task, one in kinds.items() if getattr(one, by) == kind]
        yield {"by": by, "kind": kind, "tasks": len(mine), **means(mine, every)}


_OUTLIER_COLUMNS = (
    *titled(task="Task", finding="Finding", models="Models"),
    Column("rho", "rho", "signed"),
    Column("source", "Source"),
)
_LEAST = 3

Rates = Mapping[str, Mapping[str, float]]
"""Pass rate by model and task."""


def outlier_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return both lists; none without graded first tries."""
    ours: Rates = {group.name: group.rates for group in evidence.played if group.graded}
    if not ours:
        return []
    rows, notes = list(_outliers(ours, "ours")), [_comparable(ours)]
    if published and evidence.breadth.every_published:
        rows += _outliers({model: exact_rates(model) for model in task_rates()}, MARK)
        notes.append(f"{source('Tables 11 and 12')}; findings derived from them here")
    return [Table("outliers", f"Tasks out of line, {evidence.family}", _OUTLIER_COLUMNS, tuple(rows), tuple(notes))]


def at_zero(rates: Rates) -> dict[str, int]:
    """Return tasks that no model passed, with the number of models that tried."""
    tried = {task: [mine[task] for mine in rates.values() if task in mine] for task in chain.from_iterable(rates.values())}
    return {task: len(mine) for task, mine in tried.items() if not any(mine)}


def against_the_means(rates: Rates) -> dict[str, float]:
    """Return tasks with a negative rank correlation to the models' means, over the tasks that all models have; worst first."""
    if len(rates) < _LEAST:
        return {}
    common = _common(rates)
    means = [sum(mine[task] for task in common) for mine in rates.values()]
    rhos = {task: rank_correlation([mine[task] for mine in rates.values()], means) for task in common}
    return dict(sorted(((task, rho) for task, rho in rhos.items() if rho is not None and rho < 0), key=lambda pair: pair[1]))


def _outliers(rates: Rates, origin: str) -> Iterator[Row]:
    for task, tried in at_zero(rates).items():
        yield {"task": task, "finding": "at 0 for all", "models": tried, "source": origin}
    for task, rho in against_the_means(rates).items():
        yield {"task": task, "finding": "negative rank correlation", "models": len(rates), "rho": rho, "source": origin}


def _comparable(rates: Rates) -> str:
    if len(rates) < _LEAST:
        return f"rank correlations need {_LEAST} models or more, not {len(rates)}"
    return f"rank correlations over {len(rates)} models, on the tasks that all of them have: {len(_common(rates))}"


def _common(rates: Rates) -> list[str]:
    return [task for task in next(iter(rates.values()), {}) if all(task in mine for mine in rates.values())]


_CELLS = (
    Column("model", "Model"),
    Column("cells", "Cells", of=len),
    Column("deterministic", "Deterministic", of=lambda cells: sum(map(_agree, cells))),
    Column("share", "%", "percent", of=lambda cells: sum(map(_agree, cells)) / len(cells)),
    Column("same_trace", "Same trace", of=lambda cells: sum(len({one.trace_hash for one in cell}) == 1 for cell in cells)),
    Column("source", "Source", of=lambda cells: "ours"),
)
_TASKS = (
    *titled(task="Task", disagreeing="Models that disagree", models="of"),
    Column("published", f"Models that disagree ({MARK})"),
)
_RUN_COLUMNS = (*titled(task="Task", model="Model"), Column("mean", "Mean", "rate"), Column("rewards", "Rewards"))
_SHOWN = 5
"""Maximum number of tasks whose attempts are listed one by one."""


def variance_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return deterministic cells by model, then the tasks that drive variance; none without a repeated instance."""
    published = published and evidence.breadth.every_published
    cells = {group.name: [cell for cell in group.cells.values() if len(cell) > 1] for group in evidence.played}
    if not any(cells.values()):
        return []
    drivers = _drivers(cells, evidence.family, published=published)
    split = [str(row["task"]) for table in drivers for row in table.rows if row["disagreeing"]]
    return [*_agreement(cells, evidence.family, published=published), *drivers, *_runs(cells, split[:_SHOWN], evidence.family)]


def _agree(cell: Sequence[Result]) -> bool:
    return len({result.failure_label for result in cell}) == 1


def _agreement(cells: dict[str, list[list[Result]]], family: str, *, published: bool) -> list[Table]:
    rows = [{"model": name, **row_of(_CELLS, mine)} for name, mine in cells.items() if mine]
    if len(rows) > 1:
        rows.append({"model": "all", **row_of(_CELLS, [cell for mine in cells.values() for cell in mine])})
    notes = ["a cell is deterministic when all its graded attempts (two or more) have the same label"]
    if published:
        theirs = numbers()["determinism"]
        model = f"all {theirs['models']} models"
        rows.append({"model": model, "cells": theirs["cells"], "share": theirs["percent"] / 100, "source": MARK})
        notes.append(source("Appendix L"))
    return table_of("variance", f"Deterministic cells, {family}", _CELLS, rows, notes)


def _runs(cells: dict[str, list[list[Result]]], tasks: Sequence[str], family: str) -> list[Table]:
    """Return the reward of each attempt at the tasks that vary most, which Figure 6 draws."""
    runs = (
        (task, name, [float(result.reward or 0.0) for cell in mine if cell[0].task_id == task for result in cell])
        for task in tasks
        for name, mine in cells.items()
    )
    rows = (
        {"task": task, "model": name, "mean": sum(rewards) / len(rewards), "rewards": " ".join(f"{one:g}" for one in rewards)}
        for task, name, rewards in runs
        if rewards
    )
    notes = (f"at most {_SHOWN} tasks: those on which the attempts of most models disagree; rewards by seed and attempt",)
    return table_of("variance-runs", f"Runs of the variance-driving tasks, {family}", _RUN_COLUMNS, rows, notes)


def _drivers(cells: dict[str, list[list[Result]]], family: str, *, published: bool) -> list[Table]:
    theirs: dict[str, int] = numbers()["variance"] if published else {}
    columns = _TASKS if published else _TASKS[:-1]
    rows = sorted(_by_task(cells, theirs), key=lambda row: (-int(row["disagreeing"] or 0), -int(row["published"] or 0)))
    notes = ["tasks on which at least one model's attempts at an instance disagree, by the number of such models"]
    notes += [f"{source('Table 8')}; it lists tasks with four models or more"] if published else []
    return table_of("variance-tasks", f"Variance-driving tasks, {family}", columns, rows, notes)


def _by_task(cells: dict[str, list[list[Result]]], theirs: dict[str, int]) -> Iterator[dict[str, str | int | None]]:
    played = dict.fromkeys(cell[0].task_id for mine in cells.values() for cell in mine)
    for task in dict.fromkeys((*played, *theirs)):
        models = [[cell for cell in mine if cell[0].task_id == task] for mine in cells.values()]
        repeated = [mine for mine in models if mine]
        split = sum(not all(map(_agree, mine)) for mine in repeated)
        if split or task in theirs:
            count = split if repeated else None
            yield {"task": task, "disagreeing": count, "models": len(repeated), "published": theirs.get(task)}
