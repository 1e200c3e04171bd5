"""Worker processes that run one job after another, and may be killed at any time.

The workers of Python's own pools share their queues: a worker killed while writing leaves an incomplete message, and the
program waits forever for the rest when it ends. Here each worker has its own pipe, so its parent notices its end immediately.
1. A worker is spawned, without a copy of its parent's threads and locks. If its parent has only one thread, it may be forked
instead, with everything imported already, which takes milliseconds instead of most of a second.
2. A worker ignores interrupts from its start, because its parent handles them. It ends when its parent ends.
3. A job creates much garbage and takes seconds, so garbage is collected between jobs, and only above a threshold.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any
from weakref import WeakSet

from harness.errors import RuntimeFailure


class WorkerEnded(RuntimeFailure):
    """Worker process that ended unexpectedly: it was killed, or died by itself."""


GARBAGE_LIMIT = 300_000
"""Number of new objects after which garbage is collected between two jobs: a few hundred megabytes."""

_ours: WeakSet[Connection] = WeakSet()
"""Our ends of all pipes. A fork of this process must close them, or workers would not notice when this process ends."""


def can_copy() -> bool:
    """Return True if this process can be forked, because it has no other thread that might hold a lock."""
    return sys.platform == "linux" and threading.active_count() == 1


class Worker:
    """Worker process. With `copied`, it is forked from this process, which requires `can_copy`."""

    def __init__(self, *, copied: bool = False) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        _ours.add(self._pipe)
        start = multiprocessing.get_context("fork").Process if copied else multiprocessing.get_context("spawn").Process
        self._process = start(target=_serve_as_copy if copied else _serve, args=(theirs,), daemon=True)
        if not copied:
            # starting a spawned process starts the resource tracker too, and that would unblock the signals
            resource_tracker.ensure_running()
        with _blocking(signal.SIGINT, signal.SIGHUP, *((signal.SIGTERM,) if copied else ())):
            self._process.start()
        theirs.close()
        self._asking = threading.Lock()
        """Lock for checks of the process's state: if two threads called waitpid at once, only one would get the exit code."""

    @property
    def alive(self) -> bool:
        """True if the process is alive."""
        with self._asking:
            return self._process.is_alive()

    def do(self, act: Callable[..., Any], *given: Any) -> Any:
        """Run `act(*given)` in the worker and return the result. Raises its exceptions, and WorkerEnded without a process."""
        try:
            self._pipe.send((act, given))
            done, value = self._pipe.recv()
        except (EOFError, OSError):
            self._join()
            raise WorkerEnded(
                f"a worker process ended with {self._process.exitcode}",
                hint="run the same command again, with --resume if it was harness run",
            ) from None
        if not done:
            raise value
        return value

    def kill(self) -> None:
        """Kill the process, whatever it is doing; a thread that waits for its answer gets WorkerEnded immediately."""
        self._process.kill()
        self._join()

    def close(self) -> None:
        """Let the process end; it must be idle."""
        self._pipe.close()
        self._join()

    def _join(self) -> None:
        with self._asking:
            self._process.join()


def collected_after(act: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a job. Garbage is collected only after the job, and only if there is much of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return act(*given)
    finally:
        if gc.get_count()[0] > GARBAGE_LIMIT:
            gc.collect()
        if was_enabled:
            gc.enable()


@contextmanager
def _blocking(*signals: signal.Signals) -> Iterator[None]:
    """Block these signals in processes that are started in this context: they inherit the signal mask of this thread."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def orphaned() -> bool:
    """Return True if this is a worker whose parent has died: another process may already be repeating its work."""
    parent = multiprocessing.parent_process()
    return parent is not None and os.getppid() != parent.pid


def _serve_as_copy(pipe: Connection) -> None:
    # the parent's handler of SIGTERM was copied too, and is not meant for a worker
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    for end in _ours:
        end.close()
    _serve(pipe)


def _serve(pipe: Connection) -> None:
    gc.disable()
    # all objects that exist now stay in use, so collections can skip them
    gc.freeze()
    while True:
        try:
            act, given = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, collected_after(act, *given))
        except Exception as error:  # noqa: BLE001 - the parent raises it again
            error.add_note(f"raised in another process:\n{traceback.format_exc()}")
            answer = (False, error)
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # noqa: BLE001 - the parent is told that the answer cannot be sent
            pipe.send((False, RuntimeFailure(f"the answer cannot be sent: {error}")))
