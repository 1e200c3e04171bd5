"""Tasks beside the published suite - one's own, or not yet published - a row for each model and task, never ranked.

They stand apart because a row of the leaderboard is complete, and comparable, with respect to the suite alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.families.contract.labels import counted_labels
from harness.families.contract.published import suite
from harness.report.evidence import Evidence, Group
from harness.report.statistics import rate_interval
from harness.report.table import Column, Row, Table

_COLUMNS = (
    Column("model", "Model"),
    Column("task", "Task"),
    Column("episodes", "Eps"),
    Column("passed", "Pass"),
    Column("rate", "SR %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("ungraded", "Ungraded"),
    Column("labels", "Labels of failures"),
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - nobody published these
    """One row a model and task; none where only the suite was played."""
    rows = [row for group in evidence.split(suite())[1].played for row in _rows(group)]
    notes = ("these are in no rank and in no mean over tasks, and a row without them is complete", "intervals: Clopper-Pearson")
    return [Table("local", f"Tasks beside the suite, {evidence.family}", _COLUMNS, tuple(rows), notes)] if rows else []


def _rows(group: Group) -> Iterator[Row]:
    for task in dict.fromkeys(result.task_id for result in (*group.graded, *group.ungraded)):
        mine = group.only((task,))
        passed, graded = sum(result.success for result in mine.graded), len(mine.graded)
        yield {
            "model": group.name,
            "task": task,
            "episodes": graded,
            "passed": passed,
            "rate": passed / graded if graded else None,
            "interval": rate_interval([[result.success for result in mine.graded]]),
            "ungraded": len(mine.ungraded),
            "labels": ", ".join(f"{count} {label}" for label, count in counted_labels(mine).most_common()) or None,
        }
