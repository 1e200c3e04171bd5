"""Pass rates task by task (paper, Tables 11 and 12), grouped by what the task puts under pressure.

`both` is what the paper prints as Hybrid. Means are unweighted, over the tasks that were played. A published column stands
beside ours of the same model; the other published columns are a table of their own, where they are asked for.

The catalogue of tasks (paper, Table 6), and pass rates by what it sorts them by: quadrant of pressure and contract pattern.

Quadrants are low or high pressure on validity and on integrity (section 3.1): Q1 neither, Q2 validity, Q3 integrity, Q4 both.
What a task is comes from its own task.toml; where there is no registry, from the paper's table. Means are unweighted, over the
tasks that were played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.families.contract.published import MARK, TaskKind, catalogue, numbers, source, task_rates
from harness.report.evidence import Evidence
from harness.report.statistics import Interval, share_interval
from harness.report.table import Column, Row, Table

GROUPS = ("validity", "integrity", "both", "none")
_FIRST = (Column("category", "Family"), Column("task", "Task"), Column("row", "Row", shown=False))
VALUES = frozenset({"task", "mean"})
"""What a row's `row` is where its cells are pass rates."""


@dataclass(frozen=True)
class TaskSeries:
    """One column: a name and a rate for some tasks."""

    name: str
    rates: Mapping[str, float]
    exact: Mapping[str, float]
    """The rates that means are computed from: a published rate is rounded, and stands here as the third that it was."""

    attempts: Mapping[str, int]
    """How many attempts each is a rate of."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Ours with the same models as published, then the other published columns; none without first tries."""
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
    """Our columns, each with the published one of the same model after it; then the other published ones where asked for."""
    theirs = {model: _published(model) for model in task_rates().models} if published else {}
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
    theirs = task_rates()
    attempts = dict.fromkeys(theirs.rates[model], int(numbers()["attempts"]))
    return TaskSeries(f"{model} ({MARK})", theirs.rates[model], theirs.exact(model), attempts)


def _categories(evidence: Evidence) -> dict[str, str]:
    """The category of each task: as recorded, else as the registry says."""
    listed = {task: entry.parley.category for task, entry in evidence.registry.items() if entry.parley}
    recorded = {result.task_id: result.category for group in evidence.played for result in (*group.graded, *group.ungraded)}
    return {task: category or "none" for task, category in {**listed, **recorded}.items()}


def _table(name: str, title: str, tasks: Sequence[str], categories: Mapping[str, str], every: Sequence[TaskSeries]) -> Table:
    columns = (*_FIRST, *(Column(one.name, one.name, "rate") for one in every))
    notes = ["mean reward over the graded attempts at each task; means and intervals are of the tasks played; both is Hybrid"]
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
    """The mean of each column, of how many tasks it is where columns differ in that, and its interval."""
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
    """The mean of each column over those of these tasks that it has."""
    rates_by_name = {one.name: [one.exact[task] for task in tasks if task in one.exact] for one in every}
    return {name: sum(rates) / len(rates) if rates else None for name, rates in rates_by_name.items()}


_CATALOGUE = (
    Column("task", "Task"),
    Column("difficulty", "Difficulty"),
    Column("quadrant", "Quadrant"),
    Column("pattern", "Contract pattern"),
    Column("published", f"Otherwise as {MARK}"),
)
_BY_FIRST = (Column("by", "By"), Column("kind", "Kind"), Column("tasks", "Tasks"))
_UNKNOWN = "none"
_DIFFICULTIES = ("easy", "medium", "hard", "very_hard", "extreme", _UNKNOWN)


def catalogue_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Table 6 for the tasks of these runs and their registry; none without first tries."""
    if not evidence.played:
        return []
    rows = sorted(_catalogue(task_kinds(evidence), published=published), key=_order)
    counts = {name: sum(row["quadrant"] == name for row in rows) for name in ("Q1", "Q2", "Q3", "Q4")}
    notes = [", ".join(f"{count} in {name}" for name, count in counts.items() if count)]
    notes += [source("Table 6")] if published else []
    return [Table("catalogue", f"Catalogue of tasks, {evidence.family}", _CATALOGUE, tuple(rows), tuple(notes))]


def quadrant_tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Ours with the same models as published, then the other published columns; none without first tries."""
    if not evidence.played:
        return []
    ours, rest = series(evidence, published=published)
    made = [_by_kind("quadrants", f"Pass rate by quadrant and pattern, {evidence.family}", task_kinds(evidence), ours)]
    if rest:
        made.append(_by_kind("quadrants-published", "Pass rate by quadrant and pattern, published", catalogue(), rest))
    return made


def task_kinds(evidence: Evidence) -> dict[str, TaskKind]:
    """What each task is: as the registry says, else as published."""
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
