"""Episodes that only compute are played by processes, in chunks: scripted players, in process, hundreds at a time.

Threads are enough where the work is in containers or model calls; a typed protocol in process is Python from end to end, and
half its cost alone is judging episodes one by one. A chunk is played, judged and recorded in one go by a process of its own.
A process that dies (out of memory, say) costs its chunk a second try in a new one, and if that dies too what of the chunk is
not done, never the run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from harness.agents.base import Agent, Budget
from harness.episode import lost_in_process, record, run_in_process
from harness.errors import Cancelled
from harness.processes import Worker, WorkerEnded, can_copy, orphaned
from harness.records import Hint, Key, Result, RunFolder
from harness.runtimes.base import EpisodeSpec, Runtime
from harness.runtimes.inprocess import InProcessRuntime

CHUNK = 30
"""Episodes that a process takes at once, at most; a kill loses no more than these."""

LEAST = 30
"""Below this, starting processes costs more than it saves."""


def serves(runtime: Runtime, agent: Agent, episodes: int) -> bool:
    """Whether these episodes are worth processes, and can be played by them."""
    return type(runtime) is InProcessRuntime and getattr(agent, "only_computes", False) and episodes >= LEAST


@dataclass(frozen=True)
class Episode:
    """One episode to play, and what its record is to say of a hint."""

    spec: EpisodeSpec
    key: Key
    hint: Hint | None = None


def processes(workers: int) -> int:
    """How many are of use: no more than there are processors."""
    return min(workers, os.cpu_count() or 1)


def chunk_size(episodes: int, players: int) -> int:
    """How many a process takes at once, so that all have the same to do: whole chunks for each of the players."""
    turns = ceil(episodes / (players * CHUNK))
    return ceil(episodes / (players * turns))


def get_ready(runtime: Runtime, agent: Agent, episodes: int, workers: int) -> None:
    """Start the processes that such episodes will want: from now on this process may have threads, and cannot be copied."""
    if serves(runtime, agent, episodes) and can_copy():
        while len(_idle) < processes(workers):
            _idle.append(Worker(copied=True))


_idle: list[Worker] = []
"""Started once, they serve every run of this process."""

_lock = threading.Lock()


@dataclass(frozen=True)
class Bulk:
    """A process for each thread that plays, and what they all have to know."""

    agent: Agent
    budget: Budget
    folder: RunFolder
    images: Mapping[str, str]
    _busy: set[Worker] = field(default_factory=set)
    _killed: threading.Event = field(default_factory=threading.Event)

    def play(self, chunk: Sequence[Episode]) -> list[Result]:
        """Play a chunk in one of the processes, ungraded where that dies twice; raises Cancelled after `kill`."""
        try:
            return self._played(_ready, chunk)
        except WorkerEnded:
            # what ended it need not be these episodes, some of which may be done
            done = {one.key: result for one in chunk if (result := self.folder.finished(one.key))}
        left = [one for one in chunk if one.key not in done or done[one.key].status != "graded"]
        try:
            again = self._played(Worker, left)
        except WorkerEnded as ended:
            lost = lost_in_process([(one.spec, one.key) for one in left], self.agent, ended, self.images)
            again = [record(outcome, self.folder, one.hint) for outcome, one in zip(lost, left, strict=True)]
        done |= {result.key: result for result in again}
        return [done[one.key] for one in chunk]

    def _played(self, take: Callable[[], Worker], chunk: Sequence[Episode]) -> list[Result]:
        with _lock:
            if self._killed.is_set():
                raise Cancelled("interrupted")
            worker = take()
            self._busy.add(worker)
        try:
            results: list[Result] = worker.do(_recorded, list(chunk), self.agent, self.budget, self.folder, dict(self.images))
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

    def kill(self) -> None:
        """End the processes, whatever they are doing, and start no more."""
        with _lock:
            self._killed.set()
            for worker in self._busy:
                worker.kill()


def _ready() -> Worker:
    """An idle process that still lives, else a new one."""
    while _idle:
        worker = _idle.pop()
        if worker.alive:
            return worker
        worker.close()
    return Worker()


def _recorded(
    chunk: Sequence[Episode], agent: Agent, budget: Budget, folder: RunFolder, images: Mapping[str, str]
) -> list[Result]:
    """Play a chunk, judge it and write its folders, here."""
    outcomes = run_in_process([(one.spec, one.key) for one in chunk], agent, budget, images)
    results: list[Result] = []
    for outcome, one in zip(outcomes, chunk, strict=True):
        if orphaned():
            raise Cancelled("the harness has died, and the run may be resumed by now")
        results.append(record(outcome, folder, one.hint))
    return results
