"""How far attempts at the same instance agree, and on which tasks they do not (paper, Appendix L and Table 8).

1. A cell is one model's attempts at one (task, seed), two or more of them graded. It is deterministic when all have the same
   label; `same trace` is the stricter count, of cells whose event logs are equal byte for byte.
2. A task drives variance by the number of models that disagree with themselves on it, at any seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.families.contract.published import MARK, numbers, source
from harness.records import Result
from harness.report.evidence import Evidence, Group
from harness.report.table import Column, Row, Table, Value

_CELLS = (
    Column("model", "Model"),
    Column("cells", "Cells"),
    Column("deterministic", "Deterministic"),
    Column("share", "%", "percent"),
    Column("same_trace", "Same trace"),
    Column("source", "Source"),
)
_TASKS = (
    Column("task", "Task"),
    Column("disagreeing", "Models that disagree"),
    Column("models", "of"),
    Column("published", f"Models that disagree ({MARK})"),
)
_RUNS = (Column("task", "Task"), Column("model", "Model"), Column("mean", "Mean", "rate"), Column("rewards", "Rewards"))
_SHOWN = 5
"""Tasks whose runs are listed one by one."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Deterministic cells by model, then the tasks that drive variance; none without a repeated instance."""
    published = published and evidence.breadth.every_published
    cells = {group.name: _repeated(group) for group in evidence.played}
    if not any(cells.values()):
        return []
    drivers = _drivers(cells, evidence.family, published=published)
    split = [str(row["task"]) for row in drivers.rows if row["disagreeing"]]
    agreement = _agreement(cells, evidence.family, published=published)
    runs = _runs(cells, split[:_SHOWN], evidence.family)
    return [agreement, *([drivers] if drivers.rows else []), *([runs] if split else [])]


def _repeated(group: Group) -> list[list[Result]]:
    return [cell for cell in group.cells.values() if len(cell) > 1]


def _agree(cell: Sequence[Result]) -> bool:
    return len({result.failure_label for result in cell}) == 1


def _agreement(cells: dict[str, list[list[Result]]], family: str, *, published: bool) -> Table:
    rows = [_counted(name, mine) for name, mine in cells.items() if mine]
    if len(rows) > 1:
        rows.append(_counted("all", [cell for mine in cells.values() for cell in mine]))
    notes = ["a cell is deterministic when all its graded attempts (two or more) have the same label"]
    if published:
        theirs = numbers()["determinism"]
        model = f"all {theirs['models']} models"
        rows.append({"model": model, "cells": theirs["cells"], "share": theirs["percent"] / 100, "source": MARK})
        notes.append(source("Appendix L"))
    return Table("variance", f"Deterministic cells, {family}", _CELLS, tuple(rows), tuple(notes))


def _counted(name: str, cells: Sequence[Sequence[Result]]) -> dict[str, Value]:
    agreeing = sum(map(_agree, cells))
    return {
        "model": name,
        "cells": len(cells),
        "deterministic": agreeing,
        "share": agreeing / len(cells),
        "same_trace": sum(len({result.trace_hash for result in cell}) == 1 for cell in cells),
        "source": "ours",
    }


def _runs(cells: dict[str, list[list[Result]]], tasks: Sequence[str], family: str) -> Table:
    """Each run's reward on the tasks that vary most, which Figure 6 draws."""
    rows: list[Row] = []
    for task in tasks:
        for name, mine in cells.items():
            rewards = [float(result.reward or 0.0) for cell in mine if cell[0].task_id == task for result in cell]
            if rewards:
                told = " ".join(f"{reward:g}" for reward in rewards)
                rows.append({"task": task, "model": name, "mean": sum(rewards) / len(rewards), "rewards": told})
    notes = (f"the tasks on which most models disagree with themselves, {_SHOWN} at most; rewards by seed and attempt",)
    return Table("variance-runs", f"Runs of the variance-driving tasks, {family}", _RUNS, tuple(rows), notes)


def _drivers(cells: dict[str, list[list[Result]]], family: str, *, published: bool) -> Table:
    theirs: dict[str, int] = numbers()["variance"] if published else {}
    columns = _TASKS if published else _TASKS[:-1]
    rows = sorted(_by_task(cells, theirs), key=lambda row: (-int(row["disagreeing"] or 0), -int(row["published"] or 0)))
    notes = ["tasks on which at least one model's attempts at an instance disagree, by the number of such models"]
    notes += [f"{source('Table 8')}; it lists tasks with four models or more"] if published else []
    return Table("variance-tasks", f"Variance-driving tasks, {family}", columns, tuple(rows), tuple(notes))


def _by_task(cells: dict[str, list[list[Result]]], theirs: dict[str, int]) -> Iterator[dict[str, str | int | None]]:
    played = dict.fromkeys(cell[0].task_id for mine in cells.values() for cell in mine)
    for task in dict.fromkeys((*played, *theirs)):
        models = [[cell for cell in mine if cell[0].task_id == task] for mine in cells.values()]
        repeated = [mine for mine in models if mine]
        split = sum(not all(map(_agree, mine)) for mine in repeated)
        if split or task in theirs:
            count = split if repeated else None
            yield {"task": task, "disagreeing": count, "models": len(repeated), "published": theirs.get(task)}
