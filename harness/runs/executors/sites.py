"""Where the episodes of a run are played: a site brings what is needed there, and gives the executor that plays them.

A run knows its plan and its folder, a site knows machines. `ThisMachine` is the usual one; `harness.runs.cluster` has another.
A runtime is chosen for the whole run, and what is on the machine of the run's folder need not be where episodes are played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from harness.agent import Agent, AgentSpec
from harness.agents.llm.meter import Meter
from harness.play.agents import Cast, Options
from harness.play.choose import Say, choose_runtime
from harness.pod import Runtime
from harness.records import RunFolder
from harness.registry import Task
from harness.runs.executors.base import Executor, Order
from harness.runs.executors.processes import Processes, get_ready, serves
from harness.runs.executors.threads import Threads


@dataclass(frozen=True)
class Needed:
    """What a run needs wherever it is played."""

    runtime: str
    tasks: tuple[Task, ...]
    players: tuple[tuple[AgentSpec, Options], ...]
    """Who plays, each under the options of a part."""


class RunSite(Protocol):
    """Where the episodes of a run are played."""

    typed: tuple[str, ...]
    """What has to be typed again by whoever goes on with the run there."""

    asks_here: bool
    """Whether models are asked by this process, so that it needs their keys."""

    def runtime(self, name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
        """The runtime of that name, or for `auto` the best one; raises UsageError and the failures of a runtime."""
        ...

    def opened(self, needed: Needed, meter: Meter, say: Say) -> AbstractContextManager[None]:
        """The site for the time of a session; raises what keeps it from being played there, before anything is."""
        ...

    def ready(
        self, runtime: Runtime, tasks: Sequence[Task], agent: Agent, episodes: int, workers: int, say: Say
    ) -> Mapping[str, str]:
        """Have all there but the episodes: what dead runs left is gone, images are there. Gives the images."""
        ...

    def executor(self, orders: Sequence[Order], runtime: Runtime, folder: RunFolder, cast: Cast) -> Executor:
        """Who plays these orders, at least one, all of one agent."""
        ...


class ThisMachine:
    """Episodes are played by threads of this process, or by processes where agent and runtime only compute."""

    typed: tuple[str, ...] = ()
    asks_here = True

    def runtime(self, name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
        """One that works here."""
        return choose_runtime(name, tasks, agents, say)

    @contextmanager
    def opened(self, needed: Needed, meter: Meter, say: Say) -> Iterator[None]:
        """It always is."""
        yield

    def ready(
        self, runtime: Runtime, tasks: Sequence[Task], agent: Agent, episodes: int, workers: int, say: Say
    ) -> Mapping[str, str]:
        """Sweep and prepare; processes start here, before any thread does."""
        for name in runtime.sweep():
            say(f"removed {name}, left by a dead run")
        images = runtime.prepare(tasks)
        get_ready(runtime, agent, episodes, workers)
        return images

    def executor(self, orders: Sequence[Order], runtime: Runtime, folder: RunFolder, cast: Cast) -> Executor:
        """Processes where they are worth it, else threads."""
        spec = orders[0].spec
        if serves(runtime, cast.agent(orders[0].agent, spec.overrides), len(orders)):
            return Processes(folder, cast.make)
        return Threads(runtime, folder, cast, spec.run_id)


HERE = ThisMachine()
