"""Modules that are imported by name on demand.

1. The parts of a family, `parley.families.<family>`, by the rule of `worlds.core.parts`.
2. Entries `module:name` of tables: runtimes (`harness.play.runtimes`) and agents (`harness.play.agents`). A command needs only
one of them, and would otherwise load all.
3. Libraries of the extra `[report]`, which playing does not need.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from harness.errors import UsageError
from harness.paths import is_checkout
from worlds.core.parts import families_in, part

_ROOM = "parley.families"

REPORT_EXTRA = "make setup" if is_checkout() else "pip install 'parley-bench[report]'"
"""Command that installs the libraries of reports and packed runs."""


def families() -> list[str]:
    """Return every family that has a world or a part in the harness, sorted."""
    return sorted({*families_in("worlds"), *families_in(_ROOM)})


def family_part(family: str, name: str) -> ModuleType:
    """Return the module `name` of a family; raises UsageError if the family has none."""
    module = family_part_or_none(family, name)
    if module is None:
        raise UsageError(f"the family {family!r} has no {name}")
    return module


def family_part_or_none(family: str, name: str) -> ModuleType | None:
    """Return the module `name` of a family, or None."""
    return part(_ROOM, family, name)


def report_library(name: str) -> Any:
    """Import a library that only reports and packed runs need; raises UsageError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise
        raise UsageError(f"this needs {error.name}, which is not installed", hint=REPORT_EXTRA) from None


def named(entry: str) -> Any:
    """Import the object that a table entry `module:name` refers to."""
    module, _, name = entry.partition(":")
    return getattr(importlib.import_module(module), name)
