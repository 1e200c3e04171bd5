"""The tables of the contract family, by the name that `--table` takes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.families.contract import coaching_effect, coaching_labels, labels, leaderboard, outliers, tasks, toggles, variance
from harness.report.catalogue import Maker, make
from harness.report.evidence import Evidence
from harness.report.table import Table

TABLES: dict[str, tuple[Maker, ...]] = {
    "leaderboard": (leaderboard.tables,),
    "tasks": (tasks.tables,),
    "labels": (labels.tables,),
    "variance": (variance.tables,),
    "outliers": (outliers.tables,),
    "toggles": (toggles.tables,),
    "coaching": (coaching_effect.tables, coaching_labels.tables),
}
NEEDS = {
    "variance": ("two graded attempts at some instance", "harness run ... --k 3"),
    "toggles": ("two runs that differ in one toggle", "harness run ... --mutate clip=200, and the same without"),
    "coaching": ("retries", "harness run --retry-of RUN --hint correct, and --hint none, and --hint wrong"),
}
"""What a table lacks where it is empty, and the command that makes it."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """The wanted tables, all that have something to say where none are named; raises UsageError for an empty one."""
    return make(TABLES, NEEDS, evidence, wanted, published=published)
