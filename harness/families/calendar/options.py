"""Options of calendar tasks that no list of values can check: the weights of SD-MAP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError


def check(seats: int, options: Mapping[str, Any]) -> None:
    """Raise UsageError for what a game of so many seats could not be played with."""
    if text := options.get("sd_model"):
        weights(str(text), seats)


def weights(text: str, agents: int) -> dict[int, float]:
    """SD-MAP's weight of each agent, from `1:2:1:1:1`; raises UsageError for anything else."""
    try:
        read = [float(part) for part in text.split(":")] if text else []
    except ValueError:
        read = [-1.0]
    if read and (len(read) != agents or not all(0 <= weight < float("inf") for weight in read)):
        raise UsageError(f"sd_model must be {agents} weights from 0 joined by colons, not {text!r}")
    return dict(enumerate(read))
