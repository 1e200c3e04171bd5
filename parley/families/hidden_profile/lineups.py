"""Seats of a session for line-ups: one per person, equal before the deal. The option `size` of a deck changes their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.registry import Task


def facts(task: Task, options: Mapping[str, str]) -> Sequence[Mapping[str, int]]:
    """Return one empty dictionary per seat, because hands and orders are drawn again in each session."""
    size = options.get("size", "0")
    people = int(size) if size.isascii() and size.isdigit() else 0
    return [{}] * (people or (task.parley.seats if task.parley else 1))
