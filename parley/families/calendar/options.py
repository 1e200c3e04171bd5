"""Checks of calendar options beyond lists of values: the weights of SD-MAP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError
from harness.registry import Task


def check(task: Task, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options with which a game of this task cannot be played."""
    if (text := options.get("sd_model")) and task.parley is not None:
        weights(str(text), task.parley.seats)


def weights(text: str, agents: int) -> dict[int, float]:
    """Return SD-MAP's weight of each agent, from `1:2:1:1:1`. Raises UsageError for anything else."""
    try:
        read = [float(part) for part in text.split(":")] if text else []
    except ValueError:
        read = [-1.0]
    if read and (len(read) != agents or not all(0 <= weight < float("inf") for weight in read)):
        raise UsageError(f"sd_model must be {agents} weights from 0 joined by colons, not {text!r}")
    return dict(enumerate(read))
