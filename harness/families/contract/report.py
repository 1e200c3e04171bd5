"""The tables of the contract family, by the name that `--table` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from harness.errors import UsageError
from harness.families.contract import coaching_effect, coaching_labels, labels, leaderboard, outliers, tasks, toggles, variance
from harness.report.evidence import Evidence
from harness.report.table import Table


class Maker(Protocol):
    """What makes a table, or several that belong together; nothing where the runs hold nothing for it."""

    def __call__(self, evidence: Evidence, *, published: bool) -> list[Table]:
        """The tables, with the paper's numbers beside ours where asked."""
        ...


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
    for name in wanted:
        if name not in TABLES:
            raise UsageError(f"no table is called {name!r}; there are {', '.join(TABLES)} and all")
    made: list[Table] = []
    for name in wanted or TABLES:
        tables = [table for maker in TABLES[name] for table in maker(evidence, published=published)]
        if name in wanted and not tables:
            lacking, hint = NEEDS.get(name, ("graded first tries", "harness run"))
            raise UsageError(f"the table {name} needs {lacking}, and these runs have none", hint=hint)
        made += tables
    return made
