"""Every contract task of the registry as `task`, and the oracle's play of one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.registry import Task
from parley.proof.plays import SOLVE, Play, play
from tests.shipped import SHIPPED

TASKS = [task for task in SHIPPED if task.family == "contract"]


@pytest.fixture(params=TASKS, ids=lambda task: task.task_id)
def task(request: pytest.FixtureRequest) -> Task:
    """Each contract task in turn."""
    made: Task = request.param
    return made


@pytest.fixture(scope="session")
def family() -> list[Task]:
    """All of them."""
    return TASKS


@pytest.fixture(scope="session")
def oracle() -> Callable[..., Play]:
    """Plays a task's oracle on a seed and keeps every byte exchanged."""
    return lambda task, seed=0: play(task, SOLVE, seed)
