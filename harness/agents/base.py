"""One protocol for everything that plays: an agent gets a pod and leaves a report.

1. `play` acts on the pod until it is done. What it learned on the way stands in the `Report` it was given, also when it
   raises, so that a crashed or cancelled episode still has its trajectory, tokens and log.
2. A budget that runs out is no error: the agent calls `pod.stop(cause)`, notes it in the report and returns.
3. `needs_main` says, before anything starts, whether a shell is needed in a given runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.registry import Task
from harness.runtimes.base import Pod


@dataclass
class Usage:
    """Tokens and money of the model calls of one episode; `cost_usd` is None where there is no price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False
    """Whether any count was made locally because the provider reported none."""


@dataclass
class Report:
    """What an agent did; filled in as it happens."""

    agent: str
    model: str | None = None
    interface: str | None = None
    prompt_digest: str | None = None
    tool_calls: int = 0
    requested: dict[str, Any] = field(default_factory=dict)
    """Model parameters as asked for."""

    effective: dict[str, Any] = field(default_factory=dict)
    """Model parameters as sent, refused ones left out."""

    usage: Usage = field(default_factory=Usage)
    stopped_by: str | None = None
    """The harness budget that ran out: wall, tokens, cost or turns."""

    failed: str | None = None
    """How the agent itself failed (a client that raised), in one clause."""

    trajectory: dict[str, Any] | None = None
    """ATIF-v1.8, as a plain dict."""

    log: list[str] = field(default_factory=list)
    """Lines of agent.log."""


@dataclass(frozen=True)
class Budget:
    """What the harness counts for one episode."""

    wall_s: float = 600.0
    turns: int = 120
    tokens: int | None = None
    cost_usd: float | None = None


class Agent(Protocol):
    """Anything that can play an episode."""

    name: str

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Whether `main` must exist; raises UsageError where the runtime has none."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """What of this agent belongs to the frozen plan: name, model, parameters, prompt digest."""
        ...

    def check(self) -> None:
        """Raise UsageError for what would fail anyway (missing key, unknown provider), before anything starts."""
        ...

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report) -> None:
        """Play one episode; raises BoundaryError for failures that are not the agent's."""
        ...
