"""What the suites of attacks say of an episode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.outcome import Outcome

Play = Callable[..., Outcome]
Events = Callable[[Outcome], list[dict[str, Any]]]

NOTHING = ("graded", None, 0.0, "OTHER")
SUCCESS = ("graded", None, 1.0, "SUCCESS")
WORLD_DIED = ("graded", "world", 0.0, "OTHER")


def verdict(outcome: Outcome) -> tuple[object, ...]:
    """What became of an episode, in one line."""
    result = outcome.result
    return result.status, result.cause, result.reward, result.failure_label if result.status == "graded" else result.error
