"""A few processes that share pairs of calls among them; the caller's process is the first of them.

1. Whoever is free takes the next pair and makes its first call; the second belongs to the worker after it, and is made before
   that one takes another pair. So neither waits for the other, and no two workers run out of work far apart.
2. A worker that is a process of its own starts afresh (no fork of whatever threads the caller has) with a PYTHONHASHSEED of its
   own, so that an order which hangs on string hashes shows as a difference between two workers.
3. Workers ignore interrupts, which the caller handles; they are killed when the pool is left by an exception.
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

from harness.processes import Worker, collected_after

Key = TypeVar("Key")
Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""

Pair = tuple[Key, Call, Call]
"""A key, and the two calls that are made in different workers where there is more than one."""


class WorkerPool:
    """The workers of one proof; leaving it stops those that are processes."""

    def __init__(self, workers: int) -> None:
        self._size, self._collecting = max(1, workers), False
        self._workers: dict[int, Worker] = {}
        self._threads: list[Thread] = []
        self._lock = Lock()
        self._pairs: deque[Pair[Any]] = deque()
        self._seconds: dict[int, deque[tuple[Any, int, Call]]] = {number: deque() for number in range(self._size)}
        """By worker, the second calls of pairs that the worker before it has taken."""

        self._done: SimpleQueue[tuple[Any, int, Any, BaseException | None]] = SimpleQueue()
        """Key, which of its calls (0 or 1), what that returned, and what it raised."""

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
        """Make both calls of each pair and give out what they returned as it is ready; raises what a call raises."""
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
        """The next call of a worker; None where there is no more for it."""
        with self._lock:
            if self._seconds[worker]:
                return self._seconds[worker].popleft()
            if not self._pairs:
                return None
            key, first, second = self._pairs.popleft()
            self._seconds[(worker + 1) % self._size].append((key, 1, second))
            return key, 0, first

    def _work(self, number: int) -> None:
        """Have the calls of one process made, one after the other."""
        while (taken := self._take(number)) is not None:
            key, which, (act, given) = taken
            try:
                self._done.put((key, which, self._workers[number].do(act, *given), None))
            except Exception as error:  # noqa: BLE001 - it is raised where results are waited for
                self._done.put((key, which, None, error))
                return


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
