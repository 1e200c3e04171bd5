"""Levels of difficulty: what a harder setting of a task changes, so that a whole family can be played harder by one word.

Level 1 is what a task's defaults say, and stands in no table. Each level from 2 on names the knobs, options, budgets and costs
that are other there; a table stands for itself and inherits nothing from the level below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field, FiniteFloat

from worlds.core.errors import ManifestError
from worlds.core.models import Strict

SetValue = bool | int | FiniteFloat | str

LEVEL, FIRST = "level", 1
"""How a level is set by name, and the one that every task has."""

MOST_LEVELS = 9
"""A curve of more points has no better shape."""


class BudgetChanges(Strict):
    """What of the budgets is other at a level."""

    steps: int | None = Field(default=None, ge=1, le=1999)
    virtual_seconds: Annotated[FiniteFloat, Field(gt=0, le=1e9)] | None = None


class LevelChanges(Strict):
    """What one level changes of a task, by name."""

    knobs: Mapping[str, FiniteFloat] = {}
    options: Mapping[str, SetValue] = {}
    budgets: BudgetChanges = BudgetChanges()
    costs: Mapping[str, Annotated[FiniteFloat, Field(ge=0, le=1e9)]] = {}


def check_numbers(levels: Mapping[int, LevelChanges]) -> None:
    """Raise ManifestError unless levels are numbered from 2 on without a gap."""
    wanted = list(range(FIRST + 1, FIRST + 1 + len(levels)))
    if list(levels) != wanted or len(levels) >= MOST_LEVELS:
        raise ManifestError(
            f"levels: must be numbered from {FIRST + 1} on without a gap, {MOST_LEVELS} at most, not {and_joined(levels)}"
        )


def and_joined(names: Iterable[object]) -> str:
    """Names in a sentence: a, b and c; none where there are none."""
    *most, last = [*map(str, names)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last
