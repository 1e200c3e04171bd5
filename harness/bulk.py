"""Episodes that only compute are played by processes, in chunks: scripted players, in process, hundreds at a time.

Threads are enough where the work is in containers or model calls; a typed protocol in process is Python from end to end, and
half its cost alone is judging episodes one by one. A chunk is played and judged in one go by a process of its own. A process
that dies (out of memory, say) costs its chunk a second try in a new one, and if that dies too these episodes, never the run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence

from harness.agents.base import Agent, Budget
from harness.episode import Outcome, lost_in_process, run_in_process
from harness.errors import Cancelled
from harness.processes import Worker, WorkerEnded
from harness.records import Key
from harness.runtimes.base import EpisodeSpec, Runtime
from harness.runtimes.inprocess import InProcessRuntime

CHUNK = 15
"""Episodes that a process takes at once; a kill loses no more than these."""

LEAST = 2 * CHUNK
"""Below this, starting processes costs more than it saves."""


def serves(runtime: Runtime, agent: Agent, episodes: int) -> bool:
    """Whether these episodes are worth processes, and can be played by them."""
    return type(runtime) is InProcessRuntime and getattr(agent, "only_computes", False) and episodes >= LEAST


_idle: list[Worker] = []
"""Started once, they serve every run of this process."""

_lock = threading.Lock()


class Bulk:
    """A process for each thread that plays."""

    workers = os.cpu_count() or 1

    def __init__(self, agent: Agent, budget: Budget) -> None:
        self._agent, self._budget = agent, budget
        self._busy: set[Worker] = set()
        self._killed = False

    def play(self, episodes: Sequence[tuple[EpisodeSpec, Key]], images: Mapping[str, str]) -> list[Outcome]:
        """Play a chunk in one of the processes, ungraded where that dies twice; raises Cancelled after `kill`."""
        try:
            return self._played(_ready, episodes, images)
        except WorkerEnded:
            # what ended it need not be these episodes
            pass
        try:
            return self._played(Worker, episodes, images)
        except WorkerEnded as ended:
            return lost_in_process(episodes, self._agent, ended, images)

    def _played(
        self, take: Callable[[], Worker], episodes: Sequence[tuple[EpisodeSpec, Key]], images: Mapping[str, str]
    ) -> list[Outcome]:
        with _lock:
            if self._killed:
                raise Cancelled("interrupted")
            worker = take()
            self._busy.add(worker)
        try:
            outcomes: list[Outcome] = worker.do(run_in_process, list(episodes), self._agent, self._budget, dict(images))
            return outcomes
        except WorkerEnded:
            if self._killed:
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
            self._killed = True
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
