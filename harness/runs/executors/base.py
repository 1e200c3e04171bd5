"""One protocol for whatever plays the episodes of a run, and what passes between it and the run.

1. An `Order` is one episode to play, as data: it can be pickled, and whoever takes it makes the agent from its spec.
2. Whoever plays an episode writes its folder, once and whole (decision 0018). What an executor tells the run is news of it, not
   something that still has to be written.
3. News come in the order in which they happen, an episode's `Started` before its `Finished`. Leaving the context early cancels:
   nothing more is started, what runs is killed, and an episode without its record is as if it had never begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from harness.agent import AgentSpec, Budget
from harness.play.playing import Phase
from harness.pod import EpisodeSpec
from harness.records import Hint, Key, Result


@dataclass(frozen=True)
class Order:
    """One episode to play."""

    spec: EpisodeSpec
    key: Key
    agent: AgentSpec = field(default_factory=AgentSpec)
    budget: Budget = field(default_factory=Budget)
    hint: Hint | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    """What it is played in, for its record."""


@dataclass(frozen=True)
class Started:
    """An episode began."""

    key: Key


@dataclass(frozen=True)
class Finished:
    """An episode has its record."""

    key: Key
    result: Result


@dataclass(frozen=True)
class Again:
    """Episodes without a grade are played again after some real seconds."""

    keys: tuple[Key, ...]
    seconds: float


@dataclass(frozen=True)
class Scored:
    """Where it stands which of two players is better: said before the first task and after each that is scored."""

    first: str
    second: str
    """Names of parts."""

    ahead: str | None
    """The one of them that bets were won on so far."""

    e_value: float
    needed: float
    """The e-value that decides."""

    scored: int
    """Tasks, of `tasks`."""

    tasks: int
    task: str | None = None
    """The one that was scored last; None before the first."""

    difference: float | None = None
    """On that task, first minus second."""


News = Started | Phase | Finished | Again | Scored
Progress = Callable[[News], object]


class Executor(Protocol):
    """A way to play orders."""

    def playing(self, orders: Sequence[Order], workers: int) -> AbstractContextManager[Iterator[News]]:
        """The news of these orders, played by so many workers, until each has its record; raises Cancelled on an interrupt."""
        ...
