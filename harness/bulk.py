"""Episodes that only compute are played by processes, in chunks: scripted players, in process, hundreds at a time.

Threads are enough where the work is in containers or model calls; a typed protocol in process is Python from end to end, and
half its cost alone is judging episodes one by one. A chunk is played and judged in one go by a process of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache

from harness.agents.base import Agent, Budget
from harness.episode import Outcome, run_in_process
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


class Bulk:
    """A process for each core; they are started once, and serve every run of this process."""

    workers = os.cpu_count() or 1

    def __init__(self, agent: Agent, budget: Budget) -> None:
        self._agent, self._budget = agent, budget

    def play(self, episodes: Sequence[tuple[EpisodeSpec, Key]], images: Mapping[str, str]) -> list[Outcome]:
        """Play a chunk in one of the processes."""
        return _processes().submit(run_in_process, list(episodes), self._agent, self._budget, dict(images)).result()

    def kill(self) -> None:
        """End the processes, whatever they are doing."""
        pool = _processes()
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 - there is no public way
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)
        _processes.cache_clear()


@cache
def _processes() -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(Bulk.workers, mp_context=spawn, initializer=_deaf)


def _deaf() -> None:
    """An interrupt is the run's own to hear."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
