"""How anything of a family is found: by name, in each room that knows something of it. Nothing lists families.

1. The family `hidden-profile` is a package `hidden_profile` in up to four rooms: `worlds`, `validators`, `oracles` and
   `harness.families`. What a room knows of it are modules of that package, its parts: `worlds.hidden_profile.labels`.
2. A part that is missing is a feature that the family does not have. A part that is there and does not import is an error.
3. A new family is therefore a set of new packages. docs/add-a-family.md builds one, and has a table of the parts by name.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from types import ModuleType

_FAMILY = re.compile(r"[a-z][a-z0-9-]*")
_SHARED = "core"
"""The one package of a room that is no family's."""


def part(room: str, family: str, name: str) -> ModuleType | None:
    """The module `name` of a family's package in a room, None where there is none; what it imports must be there."""
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
    """The families that have a package in a room, sorted."""
    packages = (module.name for module in pkgutil.iter_modules(importlib.import_module(room).__path__) if module.ispkg)
    return sorted(name.replace("_", "-") for name in packages if name != _SHARED)
