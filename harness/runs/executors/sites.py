"""Sites where the episodes of a run are played. A site prepares its machines and returns the executor for them.

A run manages its plan and its folder, and a site manages machines: this one, or those of `parley.ray`. A runtime is
chosen for the whole run. Episodes may be played on machines other than the one with the run's folder.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool, Options
from harness.agents.llm.meter import Meter
from harness.episode import run_episode
from harness.errors import HarnessError
from harness.live_agent import Agent
from harness.outcome import record
from harness.pod import EpisodeSpec, Pod, Runtime
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.executors.base import Executor, News, Order, Progress, WorkerThreads
from harness.runtime_choice import Say, choose_runtime

Opened = tuple[ExitStack, Pod]
"""Open pod, and the stack that closes it."""


class Ahead:
    """Pods for a list of episodes in one runtime, opened ahead; leaving the context closes those that were not used."""

    def __init__(self, runtime: Runtime, specs: Sequence[EpisodeSpec], most: int) -> None:
        """Prepare to open up to `most` pods ahead, in the order of `specs`."""
        self._runtime, self._most = runtime, most
        self._lock = threading.Lock()
        self._to_come = {spec.episode_id: spec for spec in specs}
        self._opening: dict[str, Future[Opened]] = {}
        self._pool = ThreadPoolExecutor(max_workers=max(1, most), thread_name_prefix="parley-ahead")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._to_come.clear()
            left, self._opening = list(self._opening.values()), {}
        for one in left:
            if not one.cancel():
                # ignore the error of a pod that is not needed any more
                with suppress(HarnessError, OSError):
                    one.result()[0].close()
        self._pool.shutdown()

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """Open the pod of an episode, as `Runtime.open` does, and open others ahead."""
        with self._lock:
            self._to_come.pop(spec.episode_id, None)
            mine = self._opening.pop(spec.episode_id, None)
            self._go_on()
        if mine is None:
            with self._runtime.open(spec) as pod:
                yield pod
            return
        closing, pod = mine.result()
        with closing:
            yield pod

    def _go_on(self) -> None:
        for name in list(self._to_come)[: self._most - len(self._opening)]:
            self._opening[name] = self._pool.submit(self._open, self._to_come.pop(name))

    def _open(self, spec: EpisodeSpec) -> Opened:
        with ExitStack() as stack:
            pod = stack.enter_context(self._runtime.open(spec))
            return stack.pop_all(), pod
        raise AssertionError("a pod suppressed what was raised in it")


class Threads:
    """Executor that plays orders in one runtime and records them in one run's folder."""

    def __init__(self, runtime: Runtime, folder: RunFolder, cast: AgentPool, run_id: str) -> None:
        self._runtime, self._folder, self._cast, self._run_id = runtime, folder, cast, run_id

    @contextmanager
    def playing(self, orders: Sequence[Order], workers: int) -> Iterator[Iterator[News]]:
        """Yield the progress events of these orders. Episodes that an interrupt left incomplete are not recorded."""
        count = min(workers, len(orders)) or 1
        ahead = Ahead(self._runtime, self._quick(orders), count)

        def play(taken: Sequence[Order], tell: Progress) -> Iterator[Result]:
            for order in taken:
                agent = self._cast.agent(order.agent, order.spec.overrides)
                outcome = run_episode(order.spec, order.key, self._runtime, agent, order.budget, order.images, tell, ahead.open)
                if not crew.cancelled.is_set():
                    yield record(outcome, self._folder, order.hint)

        meter = self._cast.meter
        crew = WorkerThreads(play, lambda: self._runtime.abort(self._run_id), may_start=lambda: not (meter and meter.reached))
        with ahead, crew.working(orders, count) as news:
            yield news

    def _quick(self, orders: Sequence[Order]) -> list[EpisodeSpec]:
        """Return the episodes whose pods are worth opening ahead."""
        if self._runtime.plays_in_process:
            return []
        return [order.spec for order in orders if self._cast.agent(order.agent, order.spec.overrides).only_computes]


@dataclass(frozen=True)
class Needed:
    """Requirements of a run, wherever it is played."""

    runtime: str
    tasks: tuple[Task, ...]
    players: tuple[tuple[AgentSpec, Options], ...]
    """Agents of the run, each with the options of its part."""


class RunSite:
    """Place where the episodes of a run are played: by threads of this process, unless a subclass has other means."""

    typed: tuple[str, ...] = ()
    """Options that the user must type again to resume the run at this site."""

    asks_here = True
    """True if models are called by this process, so that it needs their keys."""

    def runtime(self, name: str, tasks: Sequence[Task], agents: Sequence[Agent], say: Say) -> Runtime:
        """Return the runtime of that name, or for `auto` the best one; raises UsageError and the failures of a runtime."""
        return choose_runtime(name, tasks, agents, say)

    @contextmanager
    def opened(self, needed: Needed, meter: Meter, say: Say) -> Iterator[None]:
        """Open the site for one session; raises the error that prevents playing there before anything is played."""
        yield

    def ready(
        self, runtime: Runtime, tasks: Sequence[Task], agent: Agent, episodes: int, workers: int, say: Say
    ) -> Mapping[str, str]:
        """Prepare everything but the episodes: remove resources of dead runs, provide the images, and return the images."""
        for name in runtime.sweep():
            say(f"removed {name}, left by a dead run")
        return runtime.prepare(tasks)

    def executor(self, orders: Sequence[Order], runtime: Runtime, folder: RunFolder, cast: AgentPool) -> Executor:
        """Return the executor for these orders, which must not be empty and must share one agent."""
        return Threads(runtime, folder, cast, orders[0].spec.run_id)


HERE = RunSite()
