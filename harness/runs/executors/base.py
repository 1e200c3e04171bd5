"""Protocol of executors, which play the episodes of a run, and the messages between executor and run.

1. An `Order` is one episode to play, as data: it can be pickled, and the executor creates the agent from its spec.
2. The process that plays an episode writes its folder, once and completely (decision 0018). The news that an executor sends to
the run are notifications; nothing remains to be written.
3. News come in the order of the events, and an episode's `Started` comes before its `Finished`. Leaving the context early
cancels: nothing more is started, running episodes are killed, and episodes without a record count as not started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from harness.agent import AgentSpec, Budget
from harness.attribution import Phase
from harness.pod import EpisodeSpec
from harness.records import Hint, Key, Result


@dataclass(frozen=True)
class Order:
    """Episode to play."""

    spec: EpisodeSpec
    key: Key
    agent: AgentSpec = field(default_factory=AgentSpec)
    budget: Budget = field(default_factory=Budget)
    hint: Hint | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    """Images that it is played in, for its record."""


@dataclass(frozen=True)
class Started:
    """Start of an episode."""

    key: Key


@dataclass(frozen=True)
class Finished:
    """End of an episode, with its record."""

    key: Key
    result: Result


@dataclass(frozen=True)
class Again:
    """Retry of episodes without a grade after a pause in real seconds."""

    keys: tuple[Key, ...]
    seconds: float


@dataclass(frozen=True)
class Scored:
    """State of the comparison of two players, sent before the first task and after each scored task."""

    first: str
    second: str
    """Names of the two parts; the other field is the first."""

    ahead: str | None
    """Player whose bets have won more so far."""

    e_value: float
    needed: float
    """E-value required for a decision."""

    scored: int
    """Number of scored tasks, out of `tasks`."""

    tasks: int
    task: str | None = None
    """Task that was scored last; None before the first."""

    difference: float | None = None
    """Difference on that task, first player minus second."""


News = Started | Phase | Finished | Again | Scored
Progress = Callable[[News], object]


class Executor(Protocol):
    """Executor that plays orders."""

    def playing(self, orders: Sequence[Order], workers: int) -> AbstractContextManager[Iterator[News]]:
        """Yield the news of these orders, played by `workers` workers, until each has a record.

        Raises Cancelled on an interrupt.
        """
        ...
