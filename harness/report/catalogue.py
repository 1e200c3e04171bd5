"""A family's tables by name: which were asked for, which have something to say, and what an empty one lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from harness.caveats import ended_by
from harness.errors import UsageError
from harness.report.evidence import Evidence, Group
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
            raise empty(name, needs.get(name, ("graded first tries", "harness run")), evidence.played)
        made += new_tables
    return _with_addresses(made, evidence)


def empty(name: str, need: tuple[str, str], played: Sequence[Group]) -> UsageError:
    """Return what to say of a table that was asked for and is empty; where nothing is graded, what ended the episodes."""
    (lacking, hint), lost = need, [result for group in played for result in group.ungraded]
    why = f"the table {name} needs {lacking}, and these runs have none"
    if lost and not any(group.graded for group in played):
        count = f"all {len(lost)} episodes are" if len(lost) > 1 else "the one episode is"
        return UsageError(f"{why}: {count} ungraded: {ended_by(lost)}", hint="harness report RUN --table causes")
    return UsageError(why, hint=hint)


def _with_addresses(made: Sequence[Table], evidence: Evidence) -> list[Table]:
    """The tables, with a note under the first of where models were asked: rows say who answered, not at which address."""
    asked = (f"{group.name} was asked at {' and at '.join(group.addresses)}" for group in evidence.played if group.addresses)
    notes = tuple(asked)
    return [replace(table, notes=(*table.notes, *notes)) if table is made[0] else table for table in made]
