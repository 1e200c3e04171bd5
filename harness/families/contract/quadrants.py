"""The catalogue of tasks (paper, Table 6), and pass rates by what it sorts them by: quadrant of pressure and contract pattern.

Quadrants are low or high pressure on validity and on integrity (section 3.1): Q1 neither, Q2 validity, Q3 integrity, Q4 both.
What a task is comes from its own task.toml; where there is no registry, from the paper's table. Means are unweighted, over the
tasks that were played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.families.contract.published import MARK, TaskKind, catalogue, source
from harness.families.contract.tasks import TaskSeries, means, series
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table

_CATALOGUE = (
    Column("task", "Task"),
    Column("difficulty", "Difficulty"),
    Column("quadrant", "Quadrant"),
    Column("pattern", "Contract pattern"),
    Column("published", f"Otherwise as {MARK}"),
)
_FIRST = (Column("by", "By"), Column("kind", "Kind"), Column("tasks", "Tasks"))
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


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Ours with the same models as published, then the other published columns; none without first tries."""
    if not evidence.played:
        return []
    ours, rest = series(evidence, published=published)
    made = [_table("quadrants", f"Pass rate by quadrant and pattern, {evidence.family}", task_kinds(evidence), ours)]
    if rest:
        made.append(_table("quadrants-published", "Pass rate by quadrant and pattern, published", catalogue(), rest))
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


def _table(name: str, title: str, kinds: Mapping[str, TaskKind], every: Sequence[TaskSeries]) -> Table:
    rows = [row for by in ("quadrant", "pattern") for row in _rows(by, kinds, every)]
    whole: Row = {"by": "all", "kind": "all", "tasks": len(kinds), **means(list(kinds), every)}
    notes = ["mean over tasks of the mean reward over graded attempts, of the tasks played"]
    if any(one.name.endswith(f"({MARK})") for one in every):
        notes.append(f"{source('Tables 6, 11 and 12')}; means derived from them here")
    columns = (*_FIRST, *(Column(one.name, one.name, "rate") for one in every))
    return Table(name, title, columns, (*rows, whole), tuple(notes))


def _rows(by: str, kinds: Mapping[str, TaskKind], every: Sequence[TaskSeries]) -> Iterator[Row]:
    for kind in sorted({getattr(one, by) for one in kinds.values()}):
        mine = [task for task, one in kinds.items() if getattr(one, by) == kind]
        yield {"by": by, "kind": kind, "tasks": len(mine), **means(mine, every)}
