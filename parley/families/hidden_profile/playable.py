"""Check that scripted groups can play a task: it needs rules and weights, which imported prose does not have."""

from __future__ import annotations

from harness.errors import UsageError
from harness.registry import Task
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import read_task


def check(task: Task) -> None:
    """Raise UsageError for a task without rules for scripted seats, and for an unreadable one."""
    try:
        read = read_task(task.world_folder / SCENARIO)
    except (OSError, ValueError) as error:
        raise UsageError(f"{task.task_id} has nothing for scripted seats to play: {error}") from None
    if not read.has_logic:
        raise UsageError(
            f"{task.task_id} is uncertified: its prose has no rules and no weights for a scripted group to act by",
            hint=f"harness run {task.task_id} --model MODEL, or --agent oracle",
        )
