"""Checks of hidden-profile options beyond lists of values: the size of a deck's deal, and the conditions of a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError
from harness.registry import Task
from worlds.hidden_profile.rules.deck import Deck, deck_for_size, read_sizes, read_task, without_rules
from worlds.hidden_profile.rules.settings import Settings


def check(task: Task, options: Mapping[str, Any]) -> None:
    """Raise UsageError for a size, deals or a brief that the task has not, and for options that a chat cannot have."""
    chosen = {name: options[name] for name in ("talk", "track", "structure") if name in options}
    if contradiction := Settings(**chosen).contradiction:
        raise UsageError(contradiction, hint="leave out track and structure, or talk=turns")
    is_untold = options.get("rules") == "untold"
    size, is_manifest = int(options.get("size", 0)), options.get("deal") == "manifest"
    if not size and not is_manifest and not is_untold:
        return
    try:
        read = read_task(task.world_folder / "scenario.json")
        if is_untold:
            without_rules(read)
        if isinstance(read, Deck):
            deck_for_size(read, size, read_sizes(task.world_folder))
        elif is_manifest:
            raise UsageError(f"{task.task_id} has one deal only, a hidden one", hint="harness run ... --no-control")
        elif size != read.agents:
            raise UsageError(f"{task.task_id} is for {read.agents} people and not for {size}, because it is not a deck")
    except (OSError, ValueError) as error:
        raise UsageError(f"{'rules' if is_untold and not size else 'size'}: {error}") from None
