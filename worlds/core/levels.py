"""Levels of difficulty: the settings that a harder level of a task changes, so one option makes a whole family harder.

Level 1 is the defaults of a task and has no table. Each level from 2 on lists the knobs, options, budgets and costs that
differ from the defaults. A table is complete in itself and inherits nothing from the level below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field, FiniteFloat

from worlds.core.errors import ManifestError
from worlds.core.models import Strict

SetValue = bool | int | FiniteFloat | str

LEVEL, FIRST = "level", 1
"""Name of the option that sets a level, and number of the level that every task has."""

MAX_LEVELS = 9
"""Maximum number of levels; more points add nothing to the shape of a curve."""


class BudgetChanges(Strict):
    """Changes of the budgets at a level."""

    steps: int | None = Field(default=None, ge=1, le=1999)
    virtual_seconds: Annotated[FiniteFloat, Field(gt=0, le=1e9)] | None = None


class LevelChanges(Strict):
    """Changes that one level makes to a task, by name."""

    knobs: Mapping[str, FiniteFloat] = {}
    options: Mapping[str, SetValue] = {}
    budgets: BudgetChanges = BudgetChanges()
    costs: Mapping[str, Annotated[FiniteFloat, Field(ge=0, le=1e9)]] = {}


def check_numbers(levels: Mapping[int, LevelChanges]) -> None:
    """Raise ManifestError unless levels are numbered from 2 on without a gap."""
    wanted = list(range(FIRST + 1, FIRST + 1 + len(levels)))
    if list(levels) != wanted or len(levels) >= MAX_LEVELS:
        raise ManifestError(
            f"levels: must be numbered from {FIRST + 1} on without a gap, {MAX_LEVELS} at most, not {join_names(levels)}"
        )


def join_names(names: Iterable[object]) -> str:
    """Join names for a sentence: "a, b and c"; "none" if there are none."""
    *most, last = [*map(str, names)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last
