"""The tables of the calendar family, by the name that `--table` takes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.families.calendar import failures, outcomes, ratings_table
from harness.report.catalogue import Maker, make
from harness.report.evidence import Evidence
from harness.report.table import Table

TABLES: dict[str, tuple[Maker, ...]] = {
    "outcomes": (outcomes.tables,),
    "failures": (failures.tables,),
    "ratings": (ratings_table.tables,),
}
BY_NAME = frozenset({"ratings"})
"""Made only where they are asked for: two hundred orders of all games take a while."""

NEEDS = {"ratings": ("games that two models or more played together", "harness run calendar --model A --seat 1=B")}


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """The wanted tables, all quick ones that have something to say where none are named; raises UsageError for an empty one."""
    offered = {name: makers for name, makers in TABLES.items() if wanted or name not in BY_NAME}
    return make(offered, NEEDS, evidence, wanted, published=published)
