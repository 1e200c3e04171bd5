"""Parts found by name: a module that may be missing, as opposed to one that is broken."""

from __future__ import annotations

import importlib
from types import ModuleType


def module_or_none(name: str) -> ModuleType | None:
    """The module of that dotted name, None where it or a package around it is missing; what it imports must be there."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
