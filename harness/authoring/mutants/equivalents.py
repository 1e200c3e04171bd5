"""Mutants that change nothing anybody could see, each with the reason: they are counted, and not tried.

The list is equivalents.toml beside this module. An entry names its mutants by path, the definition around them, the line as it
is written, the operator and what it replaced, so it follows its line when others move; where one line stands twice in a
definition it means both. An entry of a file that is tried and that fits nothing any more is an error: its line has changed,
and its reason may have gone with it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from harness.authoring.mutants.mutation import SourceMutant
from harness.errors import TaskInvalid
from worlds.core.models import Strict

LIST = Path(__file__).with_name("equivalents.toml")


class Equivalent(Strict):
    """One entry of the list."""

    path: str
    within: str = ""
    line: str
    operator: str
    was: str
    reason: str = Field(min_length=10)

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What it says of a mutant (`SourceMutant.key`)."""
        return self.path, self.within, self.line, self.operator, self.was


def read_equivalents(path: Path = LIST) -> list[Equivalent]:
    """The entries; raises TaskInvalid for a list that cannot be read, or that says one thing twice."""
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
        listed = [Equivalent.model_validate(row) for row in rows]
    except (OSError, ValueError, ValidationError) as error:
        raise TaskInvalid(f"{path}:1: is no list of equivalents: {error}") from None
    seen: set[tuple[str, ...]] = set()
    for entry in listed:
        if entry.key in seen:
            raise TaskInvalid(f"{path}:1: lists {entry.operator} of `{entry.line}` in {entry.path} twice")
        seen.add(entry.key)
    return listed


def matched(listed: Sequence[Equivalent], mutants: Iterable[SourceMutant], files: Iterable[str]) -> dict[str, Equivalent]:
    """The entry of each mutant that has one, by its id; raises TaskInvalid for an entry of one of `files` that fits none."""
    by_key = {entry.key: entry for entry in listed}
    fitting = {mutant.id: by_key[mutant.key] for mutant in mutants if mutant.key in by_key}
    tried, used = set(files), {entry.key for entry in fitting.values()}
    for entry in listed:
        if entry.path in tried and entry.key not in used:
            raise TaskInvalid(
                f"{LIST}:1: {entry.path} has no {entry.operator} of `{entry.was}` in `{entry.line}` ({entry.within or 'top'})",
                hint="look at the line again, then correct or remove the entry",
            )
    return fitting
