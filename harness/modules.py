"""What the harness knows of a family: the parts of `harness.families.<family>`, by the rule of `worlds.core.parts`."""

from __future__ import annotations

from types import ModuleType

from harness.errors import UsageError
from worlds.core.parts import families_in, part

_ROOM = "harness.families"


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
