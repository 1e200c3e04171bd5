"""Tasks whose results differ from those of the rest (paper, Appendix Q): nobody passes them, or better models do worse.

1. `at 0` lists tasks that no model passed once.
2. `negative` lists tasks whose pass rates rank the models against their means (Spearman), over the tasks that all models have.
   Three models are the least for which a rank correlation says anything.
What the same two rules find in the paper's Tables 11 and 12 stands below, as derived from published numbers.

How far attempts at the same instance agree, and on which tasks they do not (paper, Appendix L and Table 8).

1. A cell is one model's attempts at one (task, seed), two or more of them graded. It is deterministic when all have the same
   label; `same trace` is the stricter count, of cells whose event logs are equal byte for byte.
2. A task drives variance by the number of models that disagree with themselves on it, at any seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.families.contract.published import MARK, numbers, source, task_rates
from harness.records import Result
from harness.report.evidence import Evidence, Group
from harness.report.statistics import rank_correlation
from harness.report.table import Column, Row, Table, row_of

_COLUMNS = (
    Column("task", "Task"),
    Column("finding", "Finding"),
    Column("models", "Models"),
    Column("rho", "rho", "signed"),
    Column("source", "Source"),
)
_LEAST = 3

Rates = Mapping[str, Mapping[str, float]]
"""Pass rate by model and task."""


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Both lists; none without graded first tries."""
    ours: Rates = {group.name: group.rates for group in evidence.played if group.graded}
    if not ours:
        return []
    rows, notes = list(_rows(ours, "ours")), [_comparable(ours)]
    if published and evidence.breadth.every_published:
        rates = task_rates()
        rows += _rows({model: rates.exact(model) for model in rates.models}, MARK)
        notes.append(f"{source('Tables 11 and 12')}; findings derived from them here")
    return [Table("outliers", f"Tasks out of line, {evidence.family}", _COLUMNS, tuple(rows), tuple(notes))]


def at_zero(rates: Rates) -> dict[str, int]:
    """Tasks that no model passed, with the number of models that tried."""
    tried = {task: [mine[task] for mine in rates.values() if task in mine] for task in _tasks(rates)}
    return {task: len(mine) for task, mine in tried.items() if not any(mine)}


def against_the_means(rates: Rates) -> dict[str, float]:
    """Tasks with a negative rank correlation to the models' means, over the tasks that all models have; worst first."""
    if len(rates) < _LEAST:
        return {}
    common = _common(rates)
    means = [sum(mine[task] for task in common) for mine in rates.values()]
    rhos = {task: rank_correlation([mine[task] for mine in rates.values()], means) for task in common}
    return dict(sorted(((task, rho) for task, rho in rhos.items() if rho is not None and rho < 0), key=lambda pair: pair[1]))


def _rows(rates: Rates, origin: str) -> Iterator[Row]:
    for task, tried in at_zero(rates).items():
        yield {"task": task, "finding": "at 0 for all", "models": tried, "source": origin}
    for task, rho in against_the_means(rates).items():
        yield {"task": task, "finding": "negative rank correlation", "models": len(rates), "rho": rho, "source": origin}


def _comparable(rates: Rates) -> str:
    if len(rates) < _LEAST:
        return f"rank correlations need {_LEAST} models or more; here are {len(rates)}"
    return f"rank correlations over {len(rates)} models, on the tasks that all of them have: {len(_common(rates))}"


def _common(rates: Rates) -> list[str]:
    return [task for task in _tasks(rates) if all(task in mine for mine in rates.values())]


def _tasks(rates: Rates) -> list[str]:
    return list(dict.fromkeys(task for mine in rates.values() for task in mine))


_CELLS = (
    Column("model", "Model"),
    Column("cells", "Cells", of=len),
    Column("deterministic", "Deterministic", of=lambda cells: sum(map(_agree, cells))),
    Column("share", "%", "percent", of=lambda cells: sum(map(_agree, cells)) / len(cells)),
    Column("same_trace", "Same trace", of=lambda cells: sum(len({one.trace_hash for one in cell}) == 1 for cell in cells)),
    Column("source", "Source", of=lambda cells: "ours"),
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


def variance_tables(evidence: Evidence, *, published: bool) -> list[Table]:
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
    rows = [{"model": name, **row_of(_CELLS, mine)} for name, mine in cells.items() if mine]
    if len(rows) > 1:
        rows.append({"model": "all", **row_of(_CELLS, [cell for mine in cells.values() for cell in mine])})
    notes = ["a cell is deterministic when all its graded attempts (two or more) have the same label"]
    if published:
        theirs = numbers()["determinism"]
        model = f"all {theirs['models']} models"
        rows.append({"model": model, "cells": theirs["cells"], "share": theirs["percent"] / 100, "source": MARK})
        notes.append(source("Appendix L"))
    return Table("variance", f"Deterministic cells, {family}", _CELLS, tuple(rows), tuple(notes))


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
