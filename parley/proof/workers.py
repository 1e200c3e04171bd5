"""A small pool of processes that run pairs of calls; the caller's process is the first worker.

1. An idle worker takes the next pair and makes its first call. The next worker makes the second call before it takes another
pair. So neither waits for the other, and all workers run out of work at about the same time.
2. Other workers are new processes (not forked, because the caller may have threads) with their own PYTHONHASHSEED, so that an
   order that depends on string hashes shows as a difference between two workers.
3. Workers ignore interrupts, which the caller handles. They are killed if an exception leaves the pool.
"""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from parley.workers import Worker, collected_after

Key = TypeVar("Key")
Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""

Pair = tuple[Key, Call, Call]
"""A key, and two calls that are made in different workers if there is more than one."""


class WorkerPool:
    """The workers of one proof. Leaving the context stops the processes."""

    def __init__(self, workers: int) -> None:
        self._size, self._collecting = max(1, workers), False
        self._workers: dict[int, Worker] = {}
        self._threads: list[Thread] = []
        self._lock = Lock()
        self._pairs: deque[Pair[Any]] = deque()
        self._seconds: dict[int, deque[tuple[Any, int, Call]]] = {number: deque() for number in range(self._size)}
        """Second calls of pairs that the previous worker has taken, by worker."""

        self._done: SimpleQueue[tuple[Any, int, Any, BaseException | None]] = SimpleQueue()
        """Key, index of the call (0 or 1), its return value, and its exception."""

    def __enter__(self) -> Self:
        # as in a worker: collect garbage only between jobs, and skip the objects that exist now
        self._collecting = gc.isenabled()
        gc.disable()
        gc.freeze()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        gc.unfreeze()
        if self._collecting:
            gc.enable()
        with self._lock:
            self._pairs.clear()
            for calls in self._seconds.values():
                calls.clear()
        for worker in self._workers.values() if kind is not None else ():
            worker.kill()
        for thread in self._threads:
            thread.join()
        for worker in self._workers.values():
            worker.close()

    def run(self, pairs: Sequence[Pair[Key]]) -> Iterator[tuple[Key, Any, Any]]:
        """Make both calls of each pair and yield their results when ready. Raises the exception of a call."""
        self._pairs.extend(pairs)
        taken = self._take(0)
        for number in range(1, min(self._size, 2 * len(pairs))):
            with _inherited(number):
                self._workers[number] = Worker()
            self._threads.append(Thread(target=self._work, args=(number,), name=f"worker-{number}", daemon=True))
            self._threads[-1].start()
        returned: dict[Key, dict[int, Any]] = {key: {} for key, _, _ in pairs}
        while returned:
            if taken is not None:
                key, which, (act, given) = taken
                returned[key][which] = collected_after(act, *given)
            while not self._done.empty() or (taken is None and not any(len(both) == 2 for both in returned.values())):
                key, which, value, error = self._done.get()
                if error is not None:
                    raise error
                returned[key][which] = value
            for key in [key for key, both in returned.items() if len(both) == 2]:
                both = returned.pop(key)
                yield key, both[0], both[1]
            taken = self._take(0)

    def _take(self, worker: int) -> tuple[Any, int, Call] | None:
        """Return the next call of a worker, or None if there is none."""
        with self._lock:
            if self._seconds[worker]:
                return self._seconds[worker].popleft()
            if not self._pairs:
                return None
            key, first, second = self._pairs.popleft()
            self._seconds[(worker + 1) % self._size].append((key, 1, second))
            return key, 0, first

    def _work(self, number: int) -> None:
        """Make the calls of one worker process, in sequence."""
        while (taken := self._take(number)) is not None:
            key, which, (act, given) = taken
            try:
                self._done.put((key, which, self._workers[number].do(act, *given), None))
            except Exception as error:  # noqa: BLE001 - the process that waits for results raises it
                self._done.put((key, which, None, error))
                return


@contextmanager
def _inherited(worker: int) -> Iterator[None]:
    """Set the PYTHONHASHSEED that a new process inherits."""
    hash_seed = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = str(worker)
    try:
        yield
    finally:
        del os.environ["PYTHONHASHSEED"]
        if hash_seed is not None:
            os.environ["PYTHONHASHSEED"] = hash_seed
