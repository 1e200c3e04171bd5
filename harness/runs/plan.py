"""Plan of a run, frozen before its first episode. It contains everything that must be equal in two sessions of one run.

`identity` is what `--resume` compares: tasks with their digests, seeds, attempts, options, agent, budgets, edition. Settings
that may differ between sessions (concurrency, runtime, host) are recorded beside it but not compared, because trace hashes are
the same in every runtime. A plan is pure data: it can be pickled, and its agent is a spec.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import product

from harness.agent import AgentSpec, Budget
from harness.agent_factory import identity_of
from harness.errors import UsageError
from harness.options import options_of
from harness.plugins import brought_by, family_part_or_none
from harness.records import Key
from harness.registry import Task
from harness.runs.request import Environment, Planned, PlannedRetry, Retry, RunRecord, RunRequest, TaskRef
from harness.runs.shards import Shard
from harness.runtime_choice import RUNTIMES
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.manifest import OptionValue
from worlds.core.texts import texts_digest


@dataclass(frozen=True)
class Plan:
    """Tasks x seeds x attempts, with everything that affects an episode."""

    run_id: str
    tasks: Sequence[Task]
    seeds: Sequence[int]
    attempts: int
    agent: AgentSpec = field(default_factory=AgentSpec)
    budget: Budget = field(default_factory=Budget)
    overrides: Mapping[str, str] = field(default_factory=dict)
    key: str = PUBLISHED_KEY
    retry: Retry | None = None
    request: RunRequest | None = None
    """Request that this plan is a part of, if any."""

    part: str = ""
    """Name of the part."""

    templates: Mapping[str, str] = field(default_factory=dict)
    """Texts that replace the family's own, by file name."""

    shard: Shard | None = None
    """Shard that is played here; None for all episodes."""

    record_wire: bool = False
    """True to record every model call."""

    @cached_property
    def keys(self) -> list[Key]:
        """Episodes that are played here, in the order in which they are started."""
        return self.shard.chosen(self.every_key) if self.shard else self.every_key

    @cached_property
    def every_key(self) -> list[Key]:
        """Every episode of the whole run, in order; for a retry, those that failed."""
        if self.retry is not None:
            tasks = {task.task_id for task in self.tasks}
            return [key for key in self.retry.hints if key.task_id in tasks]
        each = product(self.tasks, self.seeds, range(1, self.attempts + 1))
        return [Key(task_id=task.task_id, family=task.family, seed=seed, attempt=attempt) for task, seed, attempt in each]

    def task(self, key: Key) -> Task:
        """Return the task of an episode."""
        return next(task for task in self.tasks if task.task_id == key.task_id)

    def options(self, task: Task) -> dict[str, OptionValue]:
        """Return the options of this run as typed values; raises UsageError for one that a task does not have."""
        return options_of(task, self.overrides)

    def idle(self) -> Iterator[str]:
        """Yield a message for each option that was set but has no effect, with the tasks concerned and the reason."""
        idle_in: dict[tuple[str, str], list[str]] = {}
        for task in self.tasks:
            for name, why in _idle(task, self.overrides).items():
                idle_in.setdefault((name, why), []).append(task.task_id)
        for (name, why), tasks in idle_in.items():
            where = "" if len(tasks) == len(self.tasks) else f" in {tasks[0]}"
            more = f" and {len(tasks) - 1} more" if where and len(tasks) > 1 else ""
            yield f"{name}={self.overrides[name]} has no effect{where}{more}: {why}"

    def identity(self) -> Planned:
        """Return the values that must be unchanged when the run is resumed."""
        return Planned(
            tasks={task.task_id: task.digest for task in self.tasks}, seeds=tuple(self.seeds), attempts=self.attempts,
            agent=identity_of(self.agent, self.overrides), budget=self.budget, options=dict(self.overrides),
            key_digest=key_digest(self.key), templates=texts_digest(self.templates),
            retry=PlannedRetry(of=self.retry.of, hint=self.retry.mode) if self.retry else None,
        )  # fmt: skip

    def record(self, runtime: str, images: Mapping[str, str]) -> RunRecord:
        """Return the content of run.json."""
        granted = tuple(sorted({name for task in self.tasks for name in task.granted}))
        environment = Environment(
            runtime=runtime, images=dict(images), versions=versions() | self._plugins(runtime), granted=granted
        )
        request = (self.request or self._alone(runtime)).public()
        return RunRecord(run=self.run_id, part=self.part, identity=self.identity(), environment=environment, request=request)

    def _plugins(self, runtime: str) -> dict[str, str]:
        """Return the distributions that provide this plan's agent and runtime, if they are not ours."""
        agents = brought_by("agents", self.agent.name) if self.agent.kind == "plugin" else {}
        return agents if runtime in RUNTIMES else agents | brought_by("runtimes", runtime)

    def _alone(self, runtime: str) -> RunRequest:
        """Return a request that has this plan as its only part."""
        return RunRequest(
            tasks=task_refs(self.tasks), seeds=tuple(self.seeds), attempts=self.attempts, agents=(self.agent,),
            options={name: (value,) for name, value in self.overrides.items()}, budget=self.budget,
            key_digest=key_digest(self.key), retry=self.retry, runtime=runtime, templates=dict(self.templates),
            shard=self.shard, record_wire=self.record_wire,
        )  # fmt: skip


def _idle(task: Task, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the options that have no effect on a task, with the reason, if its family defines them."""
    manifest, own = task.file.manifest(), family_part_or_none(task.family, "idle_options")
    if manifest is None or own is None:
        return {}
    try:
        told: dict[str, str] = own.idle(task, manifest.resolve(overrides))
    except (OSError, ValueError):
        # a broken scenario is reported when it is played
        return {}
    return {name: why for name, why in told.items() if name in overrides}


def task_refs(tasks: Sequence[Task]) -> dict[str, TaskRef]:
    """Return tasks in the form of a request."""
    return {task.task_id: TaskRef(digest=task.digest, family=task.family, path=str(task.path.resolve())) for task in tasks}


def plans(request: RunRequest, tasks: Sequence[Task], key: str, folder: str) -> dict[str, Plan]:
    """Return the plan of each part of a request by the part's name. A part without a name gets the name of the run's `folder`.

    `tasks` are the loaded tasks of the request, and `key` is the key of its random values.
    """
    return {
        part.name: Plan(
            part.name or folder, tasks, request.seeds, request.attempts, part.agent, request.budget, part.options, key,
            request.retry, request, part.name, request.templates, request.shard, request.record_wire,
        )
        for part in request.parts
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions that a reader of a record may need."""
    known = {"python": platform.python_version(), "platform": platform.platform()}
    for name in ("parley-bench", "litellm", "docker", "pydantic"):
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            known[name] = "not installed"
    return known


def parse_seeds(text: str) -> list[int]:
    """Parse `0`, `0-9` or `1,4,7-9` into a sorted list without duplicates; raises UsageError for anything else."""
    seeds: set[int] = set()
    for part in text.split(","):
        written = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9}))?\s*", part)
        if not written:
            raise UsageError(f"seeds must look like 0-9 or 1,4,7-9, not {text!r}")
        low, high = int(written[1]), int(written[2] or written[1])
        if high < low or high - low > 100_000:
            raise UsageError(f"seeds {part.strip()!r} is not a range from low to high")
        seeds |= set(range(low, high + 1))
    return sorted(seeds)
