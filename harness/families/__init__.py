"""What the machine knows of one family: reports, seats, audits, mutations. One package each, found by name.

A family that lacks a part simply has no such feature; nothing lists families.
"""

from __future__ import annotations

from types import ModuleType

from harness.errors import UsageError
from harness.modules import module_or_none


def part(family: str, name: str) -> ModuleType:
    """The module `name` of a family's package; raises UsageError where the family has none."""
    found = find(family, name)
    if found is None:
        raise UsageError(f"the family {family!r} has no {name}")
    return found


def find(family: str, name: str) -> ModuleType | None:
    """The module `name` of a family's package, or None."""
    return module_or_none(f"harness.families.{family.replace('-', '_')}.{name}")
