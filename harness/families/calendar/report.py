"""The tables of the calendar family, by the name that `--table` takes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.families.calendar import failures, outcomes
from harness.report.catalogue import Maker, make
from harness.report.evidence import Evidence
from harness.report.table import Table

TABLES: dict[str, tuple[Maker, ...]] = {"outcomes": (outcomes.tables,), "failures": (failures.tables,)}


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """The wanted tables, all that have something to say where none are named; raises UsageError for an empty one."""
    return make(TABLES, {}, evidence, wanted, published=published)
