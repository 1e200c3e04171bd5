"""What is sent to a node, and what it becomes there: a node plays its own files, and brings its own secrets.

1. A task travels as its digest and its place. The node reads the folder that it has, and plays it only if the digest is equal.
2. Variables that were granted to foreign tasks travel by name alone, and keys of models not at all: the node's environment has
   them, or the node is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from harness.agent import AgentSpec
from harness.errors import RuntimeFailure, TaskInvalid, UsageError
from harness.granted import grant
from harness.play.agents import Options
from harness.registry import Task, read_task
from harness.runs.executors.base import Order
from harness.runs.executors.sites import Needed
from harness.secrets import public_address
from harness.trust import own_roots


@dataclass(frozen=True)
class SentTask:
    """A task as another machine can find it."""

    task_id: str
    digest: str
    path: str
    """Where it lies on the machine of the run."""

    own: str
    """Its place below our own tasks, wherever those lie; "" for one from elsewhere."""

    admitted: bool
    granted: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where it lies on this machine."""
        inner = [root / self.own for root in own_roots() if self.own]
        return next((folder for folder in inner if (folder / "task.toml").is_file()), Path(self.path))

    def digest_here(self) -> str:
        """Of the folder that this machine has; "" where it has none, or one that is broken."""
        try:
            return read_task(self.folder).digest
        except TaskInvalid:
            return ""

    def here(self) -> Task:
        """The task as this machine has it; raises RuntimeFailure for another one, TaskInvalid and UsageError."""
        task = replace(read_task(self.folder), admitted=self.admitted)
        if task.digest != self.digest:
            raise RuntimeFailure(f"{task.path} is another {self.task_id} than the run's")
        return grant([task], self.granted)[0]


def sent_task(task: Task) -> SentTask:
    """A task as it travels."""
    real = task.path.resolve()
    own = next((str(real.relative_to(root)) for root in own_roots() if root in real.parents), "")
    return SentTask(task.task_id, task.digest, str(real), own, task.admitted, tuple(task.granted))


@dataclass(frozen=True)
class SentNeeds:
    """What a node must have for a run."""

    runtime: str
    tasks: tuple[SentTask, ...]
    players: tuple[tuple[AgentSpec, Options], ...]


def sent_needs(needed: Needed) -> SentNeeds:
    """What a run needs, as it travels; raises UsageError for what cannot be played on another machine."""
    for spec, _ in needed.players:
        if spec.has_people:
            raise UsageError("people play at this terminal, and a cluster has none", hint="harness run ... --executor here")
        if spec.api_base and public_address(spec.api_base) != spec.api_base:
            why = "a password in --api-base would be sent to every node"
            raise UsageError(why, hint="export it on the nodes, as the key of the provider")
    return SentNeeds(needed.runtime, tuple(map(sent_task, needed.tasks)), needed.players)


@dataclass(frozen=True)
class SentOrder:
    """An episode to play, as it travels."""

    order: Order
    """Its task without what was granted to it."""

    task: SentTask
    runtime: str

    def here(self, task: Task) -> Order:
        """The order with the task of this machine."""
        return replace(self.order, spec=replace(self.order.spec, task=task))


def sent_order(order: Order, runtime: str) -> SentOrder:
    """An order as it travels."""
    spec = order.spec
    bare = replace(order, spec=replace(spec, task=replace(spec.task, granted={})))
    return SentOrder(bare, sent_task(spec.task), runtime)
