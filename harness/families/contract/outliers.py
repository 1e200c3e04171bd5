"""Tasks whose results differ from those of the rest (paper, Appendix Q): nobody passes them, or better models do worse.

1. `at 0` lists tasks that no model passed once.
2. `negative` lists tasks whose pass rates rank the models against their means (Spearman), over the tasks that all models have.
   Three models are the least for which a rank correlation says anything.
What the same two rules find in the paper's Tables 11 and 12 stands below, as derived from published numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.families.contract.published import MARK, source, task_rates
from harness.report.evidence import Evidence
from harness.report.statistics import rank_correlation
from harness.report.table import Column, Row, Table

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
