"""Pass rates task by task (paper, Tables 11 and 12), grouped by what the task puts under pressure.

`both` is what the paper prints as Hybrid. Means are unweighted, over the tasks that were played. A published column stands
beside ours of the same model; the other published columns are a table of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.families.contract.published import MARK, numbers, source, task_rates
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table

GROUPS = ("validity", "integrity", "both", "none")
_FIRST = (Column("category", "Family"), Column("task", "Task"))


@dataclass(frozen=True)
class _Series:
    """One column: a name and a rate for some tasks."""

    name: str
    rates: Mapping[str, float]
    exact: Mapping[str, float]
    """What means are taken over: published rates are rounded, their thirds are not."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Ours with the same models as published, then the other published columns; none without first tries."""
    if not evidence.played:
        return []
    theirs = {model: _published(model) for model in task_rates().models} if published else {}
    ours, beside = [], set[str]()
    for group in evidence.played:
        ours.append(_Series(group.name, group.rates, group.rates))
        if group.title in theirs and group.title not in beside:
            beside.add(group.title)
            ours.append(theirs[group.title])
    categories = _categories(evidence)
    made = [_table("tasks", f"Pass rate by task, {evidence.family}", evidence.tasks, categories, ours)]
    rest = [series for model, series in theirs.items() if model not in beside]
    if rest:
        known = {task: category for category, tasks in numbers()["categories"].items() for task in tasks}
        made.append(_table("tasks-published", "Pass rate by task, published", list(known), known, rest))
    return made


def _published(model: str) -> _Series:
    found = task_rates()
    return _Series(f"{model} ({MARK})", found.rates[model], found.exact(model))


def _categories(evidence: Evidence) -> dict[str, str]:
    """The category of each task: as recorded, else as the registry says."""
    listed = {task: found.parley.category for task, found in evidence.registry.items() if found.parley}
    recorded = {result.task_id: result.category for group in evidence.played for result in (*group.graded, *group.ungraded)}
    return {task: category or "none" for task, category in {**listed, **recorded}.items()}


def _table(name: str, title: str, tasks: Sequence[str], categories: Mapping[str, str], series: Sequence[_Series]) -> Table:
    columns = (*_FIRST, *(Column(one.name, one.name, "rate") for one in series))
    notes = ["mean reward over the graded attempts at each task; means are over the tasks played; both is the paper's Hybrid"]
    if any(one.name.endswith(f"({MARK})") for one in series):
        notes.append(source("Tables 11 and 12"))
    return Table(name, title, columns, tuple(_rows(tasks, categories, series)), tuple(notes))


def _rows(tasks: Sequence[str], categories: Mapping[str, str], series: Sequence[_Series]) -> Iterator[Row]:
    for category in GROUPS:
        mine = [task for task in tasks if categories.get(task, "none") == category]
        for task in mine:
            yield {"category": category, "task": task, **{one.name: one.rates.get(task) for one in series}}
        if mine:
            yield {"category": category, "task": f"mean of {len(mine)}", **_means(mine, series)}
    yield {"category": "all", "task": f"mean of {len(tasks)}", **_means(tasks, series)}


def _means(tasks: Sequence[str], series: Sequence[_Series]) -> dict[str, float | None]:
    found = {one.name: [one.exact[task] for task in tasks if task in one.exact] for one in series}
    return {name: sum(rates) / len(rates) if rates else None for name, rates in found.items()}
