"""Lookup of a family's modules by name in each top-level package; there is no list of families.

1. The family `hidden-profile` is a package `hidden_profile` in up to four places: `worlds`, `validators`, `oracles` and
`parley.families`. The modules of these packages are its parts, for example `worlds.hidden_profile.labels`.
2. A missing part is a feature that the family does not have. A part that exists and fails to import is an error.
3. A new family is therefore a set of new packages. docs/add-a-family.md builds one and lists the parts by name.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from types import ModuleType

_FAMILY = re.compile(r"[a-z][a-z0-9-]*")
_SHARED = "core"
"""The only package that belongs to no family."""


def import_part(room: str, family: str, name: str) -> ModuleType | None:
    """Import the module `name` of a family in `room`; None if it does not exist. Errors inside the module are raised."""
    if family == _SHARED or not _FAMILY.fullmatch(family):
        return None
    module = f"{room}.{family.replace('-', '_')}.{name}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        return None


def families_in(room: str) -> list[str]:
    """Return the families that have a package in `room`, sorted."""
    packages = (module.name for module in pkgutil.iter_modules(importlib.import_module(room).__path__) if module.ispkg)
    return sorted(name.replace("_", "-") for name in packages if name != _SHARED)
