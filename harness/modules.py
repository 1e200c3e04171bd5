"""Modules that are imported by name: the parts of a family, by the rule of `worlds.core.parts`, and libraries of the extra."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from harness.errors import UsageError
from worlds.core.parts import families_in, part

_ROOM = "harness.families"

REPORT_EXTRA = "pip install 'parley-bench[report]'"
"""Installs what reports and packed runs need besides."""


def families() -> list[str]:
    """Every family that has a world or that the harness knows something of, sorted."""
    return sorted({*families_in("worlds"), *families_in(_ROOM)})


def family_part(family: str, name: str) -> ModuleType:
    """The part `name` of a family; raises UsageError where the family has none."""
    module = family_part_or_none(family, name)
    if module is None:
        raise UsageError(f"the family {family!r} has no {name}")
    return module


def family_part_or_none(family: str, name: str) -> ModuleType | None:
    """The part `name` of a family, or None."""
    return part(_ROOM, family, name)


def report_library(name: str) -> Any:
    """Import a library that reports and packed runs need, and playing does not; raises UsageError where it is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise
        raise UsageError(f"this needs {error.name}, which is not installed", hint=REPORT_EXTRA) from None
