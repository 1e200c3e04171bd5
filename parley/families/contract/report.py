"""The tables of the contract family, by the name that `--table` takes.

Tables that rank models or average over tasks use the published suite only; other tasks are in `local`, so that an additional
folder changes no row. Tables that count episodes (labels, cells, toggles, retries) use all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parley.families.contract import coaching_effect, leaderboard, tasks
from parley.families.contract.published import suite
from parley.reports import components
from parley.reports.evidence import Evidence, Maker, make
from parley.reports.table import Table


def _of_suite(maker: Maker) -> Maker:
    """Return a maker that gets the tasks of the suite only."""

    def tables(evidence: Evidence, *, published: bool) -> list[Table]:
        shown, beside = evidence.split(suite())
        return _noted(maker(shown, published=published), beside, "tasks of the suite only; the table local has {}")

    return tables


def _of_all(maker: Maker) -> Maker:
    """Return a maker that gets all tasks, and adds a note if some are not of the suite."""

    def tables(evidence: Evidence, *, published: bool) -> list[Table]:
        return _noted(maker(evidence, published=published), evidence.split(suite())[1], "all tasks, including {}")

    return tables


def _noted(tables: list[Table], beside: Evidence, note: str) -> list[Table]:
    """Return tables with a note about the tasks outside the suite, if any."""
    graded = sum(len(group.graded) for group in beside.groups)
    if not graded:
        return tables
    count = len({result.task_id for group in beside.groups for result in group.graded})
    told = f"{graded} graded episode{'s' if graded != 1 else ''} of {count} task{'s' if count != 1 else ''} outside the suite"
    return [replace(table, notes=(*table.notes, note.format(told))) for table in tables]


TABLES: dict[str, tuple[Maker, ...]] = {
    "leaderboard": (_of_suite(leaderboard.tables),),
    "tasks": (_of_suite(tasks.tables),),
    "catalogue": (_of_suite(tasks.catalogue_tables),),
    "quadrants": (_of_suite(tasks.quadrant_tables),),
    "labels": (_of_all(leaderboard.label_tables),),
    "variance": (_of_all(tasks.variance_tables),),
    "outliers": (_of_suite(tasks.outlier_tables),),
    "toggles": (_of_all(coaching_effect.toggle_tables),),
    "local": (leaderboard.local_tables,),
    "coaching": (_of_all(coaching_effect.tables), _of_all(coaching_effect.label_tables)),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {"components": (_of_suite(components.tables),)}
"""Tables made only when named: `components` helps to plan the next run."""

NEEDS = {
    "components": components.NEEDED,
    "variance": ("two graded attempts at some instance", "harness run ... --k 3"),
    "toggles": ("two runs that differ in one toggle", "harness run ... --mutate clip=200, and the same without"),
    "local": ("tasks that are not of the published suite", "harness new contract NAME"),
    "coaching": ("retries", "harness run --retry-of RUN --hint correct, and --hint none, and --hint wrong"),
}
"""For each table, what it needs and the command that provides it."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """Return the wanted tables, or every table that is not empty. Raises UsageError for a named one that is empty."""
    return make(TABLES, NEEDS, evidence, wanted, published=published, by_name=BY_NAME)
