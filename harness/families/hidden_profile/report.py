"""The tables of the hidden-profile family, by the name that `--table` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.families.hidden_profile import accuracy, guessers, process, profiles, variants_table
from harness.families.hidden_profile.protocol import WITHOUT, any_as_the_paper
from harness.report import components
from harness.report.catalogue import Maker, by_name, make
from harness.report.evidence import Evidence
from harness.report.table import Table

TABLES: dict[str, tuple[Maker, ...]] = {
    "accuracy": (accuracy.tables,),
    "tasks": (profiles.tables,),
    "variants": (variants_table.tables,),
    "process": (process.tables,),
}
BY_NAME: dict[str, tuple[Maker, ...]] = {"guessers": (guessers.tables,), "components": (components.tables,)}
"""Made only where they are asked for by name: the first says more of tasks than of who played them and takes half a second a
task, the second is for planning the next run."""

NEEDS = {
    "components": components.NEEDED,
    "accuracy": ("graded sessions", "harness run hidden-profile --set condition=hidden,full"),
    "variants": ("a run with an instruction variant", "harness run hidden-profile --set variant=none,asymmetry"),
    "guessers": ("tasks that the registry knows", "harness --tasks FOLDER report RUN"),
}
"""What a table lacks where it is empty, and the command that makes it."""

_HAVE_PUBLISHED = {"accuracy", "process", "variants"}
"""Tables with rows of the paper's, by their names in a document."""


def report(evidence: Evidence, wanted: Sequence[str], *, published: bool) -> list[Table]:
    """The wanted tables, all that have something to say where none are named; raises UsageError for an empty one.

    The paper's numbers stand beside sessions of its own protocol alone.
    """
    beside = published and any_as_the_paper(evidence)
    named = by_name(BY_NAME, wanted)
    made = make({**TABLES, **named}, NEEDS, evidence, wanted, published=beside)
    return made if beside or not published else [_without(table) for table in made]


def _without(table: Table) -> Table:
    """A table with a word on why the paper's rows are not in it, where it would have some."""
    return replace(table, notes=(*table.notes, WITHOUT)) if table.name in _HAVE_PUBLISHED else table
