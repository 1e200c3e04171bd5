"""The tables of the hidden-profile family, by the name that `--table` takes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.families.hidden_profile import accuracy, guessers, process, profiles, variants_table
from harness.report import components
from harness.report.catalogue import Maker, make
from harness.report.evidence import Evidence
from harness.report.table import Table

TABLES: dict[str, tuple[Maker, ...]] = {
    "accuracy": (accuracy.tables,),
    "tasks": (profiles.tables,),
    "variants": (variants_table.tables,),
    "process": (process.tables,),
    "guessers": (guessers.tables,),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {"components": (components.tables,)}
"""Made only where they are asked for by name: it is for planning the next run."""

NEEDS = {
    "components": ("two graded sessions of some task", "harness run hidden-profile --k 2, or --seeds 0-9"),
    "accuracy": ("graded sessions", "harness run hidden-profile --set condition=hidden,full"),
    "variants": ("a run with an instruction variant", "harness run hidden-profile --set variant=none,asymmetry"),
    "guessers": ("tasks that the registry knows", "harness --tasks FOLDER report RUN"),
}
"""What a table lacks where it is empty, and the command that makes it."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """The wanted tables, all that have something to say where none are named; raises UsageError for an empty one."""
    named = {name: makers for name, makers in BY_NAME.items() if name in wanted}
    return make({**TABLES, **named}, NEEDS, evidence, wanted, published=published)
