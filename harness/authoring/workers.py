"""A few processes that each take their own share of jobs; the caller's process is the first of them.

1. Jobs are placed, not raced for: job `n` belongs to worker `n` modulo their number.
2. A worker that is a process of its own starts afresh (no fork of whatever threads the caller has) with a PYTHONHASHSEED of its
   own, so that an order which hangs on string hashes shows as a difference between two workers.
3. Workers ignore interrupts, which the caller handles; they are killed when the pool is left by an exception.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from harness.processes import Worker, collected_after

Key = TypeVar("Key")
Job = tuple[int, Key, Callable[..., Any], tuple[Any, ...]]
"""Placement, key, function and its arguments."""


class WorkerPool:
    """The workers of one proof; leaving it stops those that are processes."""

    def __init__(self, workers: int) -> None:
        self._size, self._collecting = max(1, workers), False
        self._workers: dict[int, Worker] = {}
        self._waiting: dict[int, ThreadPoolExecutor] = {}
        """By worker, the thread that hands it its jobs one after the other."""

    def __enter__(self) -> Self:
        # as in a worker: garbage is collected between jobs only, and what exists by now is in use
        self._collecting = gc.isenabled()
        gc.disable()
        gc.freeze()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        gc.unfreeze()
        if self._collecting:
            gc.enable()
        for worker in self._workers.values() if kind is not None else ():
            worker.kill()
        for thread in self._waiting.values():
            thread.shutdown(cancel_futures=True)
        for worker in self._workers.values():
            worker.close()

    def run(self, jobs: Sequence[Job[Key]]) -> Iterator[tuple[Key, Any]]:
        """Do every job and give out results as they are ready; raises what a job raises."""
        away = {self._post(place % self._size, act, given): key for place, key, act, given in jobs if place % self._size}
        for place, key, act, given in jobs:
            if place % self._size == 0:
                yield key, collected_after(act, *given)
                yield from _ready(away, 0)
        while away:
            yield from _ready(away, None)

    def _post(self, worker: int, act: Callable[..., Any], given: tuple[Any, ...]) -> Future[Any]:
        if worker not in self._workers:
            with _inherited(worker):
                self._workers[worker] = Worker()
            self._waiting[worker] = ThreadPoolExecutor(1, thread_name_prefix=f"worker-{worker}")
        return self._waiting[worker].submit(self._workers[worker].do, act, *given)


@contextmanager
def _inherited(worker: int) -> Iterator[None]:
    """What a new process takes over from this one: a PYTHONHASHSEED."""
    hash_seed = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = str(worker)
    try:
        yield
    finally:
        del os.environ["PYTHONHASHSEED"]
        if hash_seed is not None:
            os.environ["PYTHONHASHSEED"] = hash_seed


def _ready(away: dict[Future[Any], Key], timeout: float | None) -> Iterator[tuple[Key, Any]]:
    """Take out what is done by now, or wait for the next."""
    for future in wait(away, timeout=timeout, return_when="FIRST_COMPLETED").done:
        yield away.pop(future), future.result()
