"""A family's tables by name: which were asked for, which have something to say, and what an empty one lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from harness.errors import UsageError
from harness.report.evidence import Evidence
from harness.report.table import Table


class Maker(Protocol):
    """What makes a table, or several that belong together; nothing where the runs hold nothing for it."""

    def __call__(self, evidence: Evidence, *, published: bool) -> list[Table]:
        """The tables, with the paper's numbers beside ours where asked."""
        ...


ALL = "all"
"""The name that stands for every table."""

Needs = Mapping[str, tuple[str, str]]
"""Table -> what it lacks where it is empty, and the command that makes it."""


def by_name(tables: Mapping[str, tuple[Maker, ...]], wanted: Sequence[str]) -> dict[str, tuple[Maker, ...]]:
    """Return the tables that are made only where they are named: all of them, to be listed, unless `all` is wanted."""
    return {name: makers for name, makers in tables.items() if name in wanted or (wanted and ALL not in wanted)}


def make(
    tables: Mapping[str, tuple[Maker, ...]], needs: Needs, evidence: Evidence, wanted: Sequence[str], *, published: bool
) -> list[Table]:
    """The wanted tables; all that have something to say where none are named, or `all`.

    Raises UsageError for a table of no such name, and for a named one that is empty.
    """
    wanted = [] if ALL in wanted else wanted
    for name in wanted:
        if name not in tables:
            raise UsageError(f"no table of {evidence.family} is called {name!r}; there are {', '.join(tables)} and all")
    made: list[Table] = []
    for name in wanted or tables:
        new_tables = [table for maker in tables[name] for table in maker(evidence, published=published)]
        if name in wanted and not new_tables:
            lacking, hint = needs.get(name, ("graded first tries", "harness run"))
            raise UsageError(f"the table {name} needs {lacking}, and these runs have none", hint=hint)
        made += new_tables
    return _with_addresses(made, evidence)


def _with_addresses(made: Sequence[Table], evidence: Evidence) -> list[Table]:
    """The tables, with a note under the first of where models were asked: rows say who answered, not at which address."""
    asked = (f"{group.name} was asked at {' and at '.join(group.addresses)}" for group in evidence.played if group.addresses)
    notes = tuple(asked)
    return [replace(table, notes=(*table.notes, *notes)) if table is made[0] else table for table in made]
