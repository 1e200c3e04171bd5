"""Tasks and seeds as a verifiers taskset: one row per episode, whose key is its name in our runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf

from harness.runs.plan import parse_seeds
from parley.training import tasks_named


class ParleyData(vf.TaskData):
    """Data of an episode. A seat's own copy has its rules as `system_prompt`, and the tools it may call."""

    task_id: str = ""
    family: str = ""
    seed: int = 0
    tools: list[dict[str, Any]] = []


class ParleyTask(vf.Task[ParleyData]):
    """An episode of a task."""

    @property
    def key(self) -> str:
        """The key `family/task/sN`."""
        return f"{self.data.family}/{self.data.task_id}/s{self.data.seed}"


class ParleyTasksetConfig(vf.TasksetConfig):
    """Selection of episodes."""

    family: str = ""
    """All tasks of a family; all tasks if neither this nor `tasks` is set."""

    tasks: str = ""
    """Ids or globs, separated by commas."""

    seeds: str = "0"
    """Seeds such as `0`, `0-9` or `1,4,7-9`."""


class ParleyTaskset(vf.Taskset[ParleyTask, ParleyTasksetConfig]):
    """Every selected task at every seed."""

    def load(self) -> Iterable[ParleyTask]:
        """Yield the episodes seed by seed, in registry order."""
        names = [name for name in (self.config.tasks or self.config.family).split(",") if name]
        for seed in parse_seeds(self.config.seeds):
            for task in tasks_named(*names):
                name = f"{task.task_id}, seed {seed}"
                yield ParleyTask(ParleyData(name=name, task_id=task.task_id, family=task.family, seed=seed), self.config.task)
