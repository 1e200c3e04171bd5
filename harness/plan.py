"""The plan of a run, frozen before its first episode: what would have to be equal for two runs to be one.

`identity` is what `--resume` compares: tasks with their digests, seeds, attempts, options, agent, budgets, edition. What may
differ between the sessions of one run - concurrency, runtime, host - is recorded beside it and compared by nobody, because
trace hashes are the same in every runtime.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness import families
from harness.agents.base import Agent, Budget
from harness.agents.path import check_path
from harness.errors import UsageError
from harness.records import Key
from harness.registry import Task
from harness.retry import Retry
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.errors import ManifestError
from worlds.core.manifest import OptionValue


@dataclass(frozen=True)
class Plan:
    """Tasks x seeds x attempts, with everything that shapes an episode."""

    run_id: str
    tasks: Sequence[Task]
    seeds: Sequence[int]
    attempts: int
    agent: Agent
    budget: Budget = field(default_factory=Budget)
    overrides: Mapping[str, str] = field(default_factory=dict)
    key: str = PUBLISHED_KEY
    retry: Retry | None = None

    @property
    def keys(self) -> list[Key]:
        """Every episode, in the order in which they are started; of a retry, those that failed."""
        if self.retry is not None:
            return [key for key in self.retry.hints if any(task.task_id == key.task_id for task in self.tasks)]
        return [
            Key(task_id=task.task_id, family=task.family, seed=seed, attempt=attempt)
            for task in self.tasks
            for seed in self.seeds
            for attempt in range(1, self.attempts + 1)
        ]

    def task(self, key: Key) -> Task:
        """The task of one episode."""
        return next(task for task in self.tasks if task.task_id == key.task_id)

    def options(self, task: Task) -> dict[str, OptionValue]:
        """The overrides of this run as typed values; raises UsageError for one that a task does not have."""
        manifest = task.file.manifest()
        if manifest is None:
            if self.overrides:
                raise UsageError(f"{task.task_id} is a foreign task and has no options to set")
            return {}
        try:
            resolved = manifest.resolve(self.overrides)
        except ManifestError as error:
            raise UsageError(str(error), hint=f"harness show {task.task_id}") from None
        chosen = {name: resolved[name] for name in self.overrides}
        check_path(task.family, chosen)
        if task.parley is not None and (own := families.find(task.family, "options")):
            own.check(task.parley.seats, chosen)
        return chosen

    def identity(self) -> dict[str, Any]:
        """What must be equal for a run to be resumed."""
        return {
            "tasks": {task.task_id: task.digest for task in self.tasks},
            "seeds": list(self.seeds),
            "attempts": self.attempts,
            "agent": dict(self.agent.identity()),
            "budget": asdict(self.budget),
            "options": dict(self.overrides),
            "key_digest": key_digest(self.key),
            **({"retry": {"of": self.retry.of, "hint": self.retry.mode}} if self.retry else {}),
        }

    def record(self, runtime: str, images: Mapping[str, str]) -> dict[str, Any]:
        """What run.json holds."""
        granted = sorted({name for task in self.tasks for name in task.granted})
        environment = {"runtime": runtime, "images": dict(images), "versions": versions(), "granted": granted}
        return {"run": self.run_id, "identity": self.identity(), "environment": environment}


def versions() -> dict[str, str]:
    """Versions that a reader of a record may need."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in ("parley-bench", "litellm", "docker", "pydantic"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def parse_seeds(text: str) -> list[int]:
    """`0`, `0-9`, `1,4,7-9` as a sorted list without repeats; raises UsageError for anything else."""
    seeds: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9}))?\s*", part)
        if not found:
            raise UsageError(f"seeds must look like 0-9 or 1,4,7-9, not {text!r}")
        low, high = int(found[1]), int(found[2] or found[1])
        if high < low or high - low > 100_000:
            raise UsageError(f"seeds {part.strip()!r} is no range from low to high")
        seeds |= set(range(low, high + 1))
    return sorted(seeds)


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Which fields of two identities differ, for the message that refuses a resume."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
