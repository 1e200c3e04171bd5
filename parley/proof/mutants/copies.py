"""Runs jobs in forks of this process, several in parallel. A fork takes milliseconds and has everything imported.

A fork runs one job, since a job changes the modules that it imports. A fork that exceeds its processor time or real time is
killed, and its job has no answer.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar

from harness.errors import RuntimeFailure
from parley.workers import can_copy

Job = TypeVar("Job")
Answer = TypeVar("Answer")

LIMIT_S = 900.0
"""Timeout of one job in real seconds; `allow` limits the processor time."""

MEMORY = 3 << 30
"""Maximum bytes of data of a fork, which stops mutants that allocate memory without end."""


@dataclass
class _Away(Generic[Job]):
    job: Job
    process: ForkProcess
    started: float


def each_in_a_copy(
    jobs: Sequence[Job], work: Callable[[Job], Answer], workers: int, limit_s: float = LIMIT_S
) -> Generator[tuple[Job, Answer | None], None, None]:
    """Yield each job with its answer as soon as it is done, or None if its fork was killed or died.

    Raises RuntimeFailure if this process cannot be forked.
    """
    if not can_copy():
        raise RuntimeFailure("mutants are tried in forks of this process, which needs Linux and a single thread")
    # objects that exist now stay in use; frozen, they are skipped by collections in a fork, so their pages stay shared
    gc.collect()
    gc.freeze()
    waiting, away = list(reversed(jobs)), dict[Connection, _Away[Job]]()
    try:
        while waiting or away:
            while waiting and len(away) < workers:
                pipe, one = _started(waiting.pop(), work)
                away[pipe] = one
            ready = wait(list(away), timeout=1.0)
            for pipe in [pipe for pipe in away if pipe in ready]:
                yield _ended(pipe, away.pop(pipe))
            for one in away.values():
                if time.monotonic() - one.started > limit_s:
                    one.process.kill()
    finally:
        for one in away.values():
            one.process.kill()
            one.process.join()


def allow(cpu_s: float) -> None:
    """Kill this process after it has used this many more seconds of processor time."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)


def _started(job: Job, work: Callable[[Job], Any]) -> tuple[Connection, _Away[Job]]:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_do, args=(job, work, theirs), daemon=True)
    process.start()
    theirs.close()
    return ours, _Away(job, process, time.monotonic())


def _ended(pipe: Connection, one: _Away[Job]) -> tuple[Job, Any]:
    try:
        answer = pipe.recv()
    except EOFError:
        answer = None
    pipe.close()
    one.process.join()
    return one.job, answer


def _do(job: Job, work: Callable[[Job], Any], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # default handling, so that a signal to the group ends this process immediately; its parent removes its files
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    pipe.send(work(job))
    pipe.close()
    # skip the exit handlers of mutated modules
    os._exit(0)
