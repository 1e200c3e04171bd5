"""A process that does one job after another, and may be killed at any instant.

Python's pools share their queues: a worker killed in the middle of a sentence leaves them torn, and the program waits for the
rest of it when it ends. Here each process has a pipe of its own, so its end is heard at once, wherever it comes.
1. It starts afresh (spawned), with no copy of whatever threads and locks its parent has.
2. It is deaf to interrupts from its first instant on: they are its parent's to hear. It ends with its parent.
3. A job makes much garbage and is over in seconds, so it is collected between jobs, not ten times during each.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from harness.errors import RuntimeFailure


class WorkerEnded(RuntimeFailure):
    """The process of a worker has ended: it was killed, or died by itself."""


class Worker:
    """One process."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
        with _deaf():
            self._process.start()
        theirs.close()
        self._asking = threading.Lock()
        """Two threads that ask the system for the end of one process at once would get one answer between them."""

    @property
    def alive(self) -> bool:
        """Whether it can do more."""
        with self._asking:
            return self._process.is_alive()

    def do(self, act: Callable[..., Any], *given: Any) -> Any:
        """What `act(*given)` returns there; raises what it raises there, and WorkerEnded where there is no process."""
        try:
            self._pipe.send((act, given))
            done, value = self._pipe.recv()
        except (EOFError, OSError):
            self._join()
            raise WorkerEnded(
                f"a process of ours has ended, with {self._process.exitcode}",
                hint="run the same command again, with --resume where it was harness run",
            ) from None
        if not done:
            raise value
        return value

    def kill(self) -> None:
        """End it, whatever it is doing; who waits for it hears that at once."""
        self._process.kill()
        self._join()

    def close(self) -> None:
        """Let it end; it must not be doing anything."""
        self._pipe.close()
        self._join()

    def _join(self) -> None:
        with self._asking:
            self._process.join()


def tidily(act: Callable[..., Any], *given: Any) -> Any:
    """What a job returns, with its garbage collected after it."""
    was_enabled = gc.isenabled()
    gc.disable()
    # what was there before is none of its garbage, and looking through it would cost more than the job
    gc.freeze()
    try:
        return act(*given)
    finally:
        if was_enabled:
            gc.enable()
        gc.collect()
        gc.unfreeze()


@contextmanager
def _deaf() -> Iterator[None]:
    """Whatever starts meanwhile never hears an interrupt: a process inherits what the thread that starts it has blocked."""
    # the first process starts the tracker too, which would end this silence
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection) -> None:
    while True:
        try:
            act, given = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, tidily(act, *given))
        except Exception as error:  # noqa: BLE001 - it is raised again where the job came from
            answer = (False, _told(error))
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # noqa: BLE001 - an answer that no pipe can carry is an answer too
            pipe.send((False, RuntimeFailure(f"the answer cannot be sent: {error}")))


def _told(error: Exception) -> Exception:
    error.add_note(f"raised in another process:\n{traceback.format_exc()}")
    return error
