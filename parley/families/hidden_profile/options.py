"""Checks of hidden-profile options beyond lists of values: the size of a deck's deal, and the conditions of a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError
from harness.registry import Task
from worlds.hidden_profile.rules.deck import Deck, deck_for_size, read_sizes, read_task


def check(task: Task, options: Mapping[str, Any]) -> None:
    """Raise UsageError for a number of people without a valid certificate, and for a chat on the structured track."""
    if options.get("talk") == "chat" and options.get("track", "free") != "free":
        raise UsageError("talk=chat is prose, so it needs track=free", hint="leave out track, or talk=turns")
    size = int(options.get("size", 0))
    if not size:
        return
    try:
        read = read_task(task.world_folder / "scenario.json")
        if isinstance(read, Deck):
            deck_for_size(read, size, read_sizes(task.world_folder))
        elif size != read.agents:
            raise UsageError(f"{task.task_id} is for {read.agents} people and not for {size}, because it is not a deck")
    except (OSError, ValueError) as error:
        raise UsageError(f"size: {error}") from None
