"""How many seats a session has, for line-ups: as many as people, which a deck's `size` may change; all alike until dealt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.registry import Task


def facts(task: Task, options: Mapping[str, str]) -> Sequence[Mapping[str, int]]:
    """One empty row a seat: hands and orders are drawn anew in each session, so no seat is known by anything."""
    size = options.get("size", "0")
    people = int(size) if size.isascii() and size.isdigit() else 0
    return [{}] * (people or (task.parley.seats if task.parley else 1))
