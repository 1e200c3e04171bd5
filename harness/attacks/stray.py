"""How many requests a world takes before its budgets close it: what is sent after that examines nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from harness.registry import Task

T = TypeVar("T")


def affordable(task: Task, requests: Sequence[T]) -> Iterator[list[T]]:
    """The requests in batches, each for an episode of its own, that steps and virtual seconds of the task allow."""
    assert task.parley is not None, "a foreign task has no budgets"
    budgets, cost = task.parley.budgets, max(task.parley.costs["request"], 0.001)
    most = max(1, min(budgets.steps, int(budgets.virtual_seconds / cost)))
    for start in range(0, len(requests), most):
        yield list(requests[start : start + most])
