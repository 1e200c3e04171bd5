"""Base of all agents: an agent plays in a pod and fills in a report.

1. `play` acts on the pod until it is done. It writes what it learns into the `Report` it was given, also if it raises, so
that a crashed or cancelled episode still has its trajectory, tokens and log.
2. An exhausted budget is not an error: the agent calls `pod.stop(cause)`, notes it in the report and returns.
3. `needs_main` returns, before anything starts, whether the agent needs a shell in a given runtime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Protocol

from harness.agent import Budget, Report
from harness.pod import Pod
from harness.registry import Task


class ReplyCache(Protocol):
    """On-disk cache of model replies."""

    folder: Path

    def told(self) -> str:
        """Return the number of cache hits, in one line."""
        ...


class Agent(ABC):
    """Agent that can play an episode."""

    name: str

    only_computes: bool = False
    """True if playing is pure Python without model calls, so that another process can play from the spec alone."""

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if `main` must exist; raises UsageError if the runtime has none."""
        return False

    def check(self) -> None:  # noqa: B027 - most agents have nothing to check
        """Raise UsageError for problems that can be detected before anything starts (missing key, unknown provider)."""

    def probe(self, *, tools: bool) -> None:  # noqa: B027 - most agents call no model
        """Make one small call to each model of the agent before anything starts, or two if `tools` will be needed.

        Raises ProviderLost for a model that cannot be reached, and SetupFault for one that does not see the tools that it
        needs.
        """

    @abstractmethod
    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play one episode; raises BoundaryError for failures that are not the agent's.

        `attempt` is the number of the attempt at this seed, from 1; a line-up that rotates moves its players with each attempt.
        """
