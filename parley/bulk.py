"""Worker processes that play chunks of episodes without waiting times: scripted players in the runtime `inprocess`.

Threads suffice if episodes mostly wait for containers or models. Episodes of scripted players in this runtime are pure Python,
and judging them one by one is half of their cost. So a process plays, judges and records a whole chunk. If a process dies (for
example out of memory), its chunk is retried once in a new process. If that process dies too, only the unfinished episodes of
the chunk are lost. The phases of episodes are reported when their chunk returns; with `-v` the process reports them live.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil

from harness.agent import Budget, Report
from harness.agent_factory import AgentPool, Make
from harness.attribution import EpisodeState, phases_of
from harness.episode import act, opened
from harness.errors import BoundaryError, Cancelled
from harness.live_agent import Agent
from harness.outcome import Outcome, outcome_of, record
from harness.pod import EpisodeSpec, Judgement, Runtime
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.executors.base import LEAST, Executor, News, Order, Progress, WorkerThreads
from harness.runs.executors.sites import RunSite
from harness.runtime_choice import IN_PROCESS, Say, in_process
from harness.verbose import is_verbose, log_to_stderr
from parley.workers import Worker, WorkerEnded, can_copy, orphaned

CHUNK = 30
"""Maximum episodes per chunk, which is also the maximum that is lost if a process is killed."""


def serves(runtime: Runtime, agent: Agent, episodes: int) -> bool:
    """Return True if processes can play these episodes, and starting processes saves time."""
    return runtime.plays_in_process and agent.only_computes and episodes >= LEAST


def useful(workers: int) -> int:
    """Return the useful number of processes, which is at most the number of processors."""
    return min(workers, os.cpu_count() or 1)


def chunk_size(episodes: int, players: int) -> int:
    """Return the number of episodes per chunk, such that every process gets the same number of full chunks."""
    turns = ceil(episodes / (players * CHUNK))
    return ceil(episodes / (players * turns))


_idle: list[Worker] = []
"""Idle processes, which all runs of this process share."""

_lock = threading.Lock()


class Processes:
    """Executor in which each worker thread has a process that plays for it. All processes write to one run's folder."""

    def __init__(self, folder: RunFolder, make: Make) -> None:
        self._folder, self._make = folder, make
        self._busy: set[Worker] = set()
        self._killed = threading.Event()

    @contextmanager
    def playing(self, orders: Sequence[Order], workers: int) -> Iterator[Iterator[News]]:
        """Yield the progress events of these orders, which must have the same agent and budget."""

        def play(chunk: Sequence[Order], tell: Progress) -> Iterator[Result]:
            for result in self.play(chunk):
                for phase in phases_of(result):
                    tell(phase)
                yield result

        count = useful(min(workers, len(orders)) or 1)
        crew = WorkerThreads(play, self.kill, at_once=chunk_size(len(orders), count) if orders else 1)
        with crew.working(orders, count) as news:
            yield news

    def play(self, chunk: Sequence[Order]) -> list[Result]:
        """Play a chunk in one of the processes. Episodes are ungraded if two processes die. Raises Cancelled after `kill`."""
        try:
            return self._played(_ready, chunk)
        except WorkerEnded:
            # the process need not have died because of these episodes, and some of them may be finished
            done = {one.key: result for one in chunk if (result := self._folder.finished(one.key))}
        left = [one for one in chunk if one.key not in done or done[one.key].status != "graded"]
        try:
            again = self._played(Worker, left)
        except WorkerEnded as ended:
            again = self._lost(left, ended)
        done |= {result.key: result for result in again}
        return [done[one.key] for one in chunk]

    def _played(self, take: Callable[[], Worker], chunk: Sequence[Order]) -> list[Result]:
        with _lock:
            if self._killed.is_set():
                raise Cancelled("interrupted")
            worker = take()
            self._busy.add(worker)
        try:
            results: list[Result] = worker.do(recorded, list(chunk), self._make, self._folder, is_verbose())
            return results
        except WorkerEnded:
            if self._killed.is_set():
                raise Cancelled("interrupted") from None
            raise
        finally:
            with _lock:
                self._busy.remove(worker)
                if worker.alive:
                    _idle.append(worker)

    def _lost(self, chunk: Sequence[Order], failure: BoundaryError) -> list[Result]:
        agent, images = _agent(chunk, self._make), chunk[0].images
        episodes = [(one.spec, one.key) for one in chunk]
        outcomes = lost_episodes(episodes, agent, failure, IN_PROCESS, images)
        return [record(outcome, self._folder, one.hint) for outcome, one in zip(outcomes, chunk, strict=True)]

    def kill(self) -> None:
        """Kill the processes, whatever they are doing, and start no more."""
        with _lock:
            self._killed.set()
            for worker in self._busy:
                worker.kill()


def recorded(chunk: Sequence[Order], make: Make, folder: RunFolder, verbose: bool) -> list[Result]:
    """Play a chunk, judge it and write its folders in this process."""
    if verbose:
        log_to_stderr()
    episodes = [(one.spec, one.key) for one in chunk]
    outcomes: list[Outcome] = run_in_process(episodes, _agent(chunk, make), chunk[0].budget, chunk[0].images)
    results: list[Result] = []
    for outcome, one in zip(outcomes, chunk, strict=True):
        if orphaned():
            raise Cancelled("the harness has died, and another process may have resumed the run")
        results.append(record(outcome, folder, one.hint))
    return results


def _agent(chunk: Sequence[Order], make: Make) -> Agent:
    return AgentPool(make).agent(chunk[0].agent, chunk[0].spec.overrides)


def _ready() -> Worker:
    """Return an idle process that is alive, or else a new one."""
    while _idle:
        worker = _idle.pop()
        if worker.alive:
            return worker
        worker.close()
    return Worker()


class BulkSite(RunSite):
    """Site that is this machine, with worker processes for the episodes of scripted players."""

    def ready(
        self, runtime: Runtime, tasks: Sequence[Task], agent: Agent, episodes: int, workers: int, say: Say
    ) -> Mapping[str, str]:
        """Prepare the images, and start the worker processes now: this process cannot be forked once it has threads."""
        images = super().ready(runtime, tasks, agent, episodes, workers, say)
        if serves(runtime, agent, episodes) and can_copy():
            while len(_idle) < useful(workers):
                _idle.append(Worker(copied=True))
        return images

    def executor(self, orders: Sequence[Order], runtime: Runtime, folder: RunFolder, cast: AgentPool) -> Executor:
        """Return an executor with processes if they can play these orders, otherwise with threads."""
        if serves(runtime, cast.agent(orders[0].agent, orders[0].spec.overrides), len(orders)):
            return Processes(folder, cast.make)
        return super().executor(orders, runtime, folder, cast)


def run_in_process(
    episodes: Sequence[tuple[EpisodeSpec, Key]], agent: Agent, budget: Budget, images: Mapping[str, str] | None = None
) -> list[Outcome]:
    """Play episodes one after the other in this process, and judge them together, which is faster."""
    runtime, played = in_process(), [EpisodeState(Report(agent=agent.name), key) for _, key in episodes]
    for one, (spec, _) in zip(played, episodes, strict=True):
        with one.whole(), one.guarded(), opened(spec, runtime.open, one) as pod:
            one.syscalls = runtime.syscalls(spec.task)
            act(spec, pod, agent, budget, one)
    finished = [
        (one, spec) for one, (spec, _) in zip(played, episodes, strict=True) if one.opened and one.cause in {None, "agent"}
    ]
    started = time.perf_counter()
    judged = runtime.judge_all([(spec.task, one.log) for one, spec in finished])
    share = (time.perf_counter() - started) / max(1, len(finished))
    for (one, _), judgement in zip(finished, judged, strict=True):
        one.seconds |= {"judge": share, "total": one.seconds["total"] + share}
        if isinstance(judgement, Judgement):
            one.judgement = judgement
        else:
            one.blame(judgement.name, str(judgement))
    return [outcome_of(spec, runtime.name, one, images) for one, (spec, _) in zip(played, episodes, strict=True)]


def lost_episodes(
    episodes: Sequence[tuple[EpisodeSpec, Key]],
    agent: Agent,
    failure: BoundaryError,
    runtime: str,
    images: Mapping[str, str] | None = None,
    *,
    may_pass: bool = False,
) -> list[Outcome]:
    """Return ungraded outcomes for episodes that were lost with their process, attributed to `failure`."""
    outcomes = []
    for spec, key in episodes:
        played = EpisodeState(Report(agent=agent.name), key)
        played.blame(failure.name, str(failure), may_pass=may_pass)
        outcomes.append(outcome_of(spec, runtime, played, images))
    return outcomes
