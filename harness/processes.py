"""A process that does one job after another, and may be killed at any instant.

Python's pools share their queues: a worker killed in the middle of a sentence leaves them torn, and the program waits for the
rest of it when it ends. Here each process has a pipe of its own, so its end is heard at once, wherever it comes.
1. It starts afresh (spawned), with no copy of whatever threads and locks its parent has. Where its parent has but one thread
   it may start as a copy (forked), with everything imported already, which takes milliseconds instead of most of a second.
2. It is deaf to interrupts from its first instant on: they are its parent's to hear. It ends with its parent.
3. A job makes much garbage and is over in seconds, so it is collected between jobs, once there is enough of it.
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
    """The process of a worker has ended: it was killed, or died by itself."""


PILE = 300_000
"""Objects of which a process makes garbage before it is collected: some hundred megabytes."""

_ours: WeakSet[Connection] = WeakSet()
"""This process's ends of all pipes: a copy of it must let go of them, or nobody would hear when it ends."""


def can_copy() -> bool:
    """Whether a process may start as a copy of this one: no other thread here can be holding a lock."""
    return sys.platform == "linux" and threading.active_count() == 1


class Worker:
    """One process; `copied` where it is to start as a copy, for which `can_copy` must hold."""

    def __init__(self, *, copied: bool = False) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        _ours.add(self._pipe)
        start = multiprocessing.get_context("fork").Process if copied else multiprocessing.get_context("spawn").Process
        self._process = start(target=_serve_as_copy if copied else _serve, args=(theirs,), daemon=True)
        if not copied:
            # a process that starts afresh starts the tracker too, which would end the silence
            resource_tracker.ensure_running()
        with _deaf(signal.SIGINT, *((signal.SIGTERM,) if copied else ())):
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
    """What a job returns; its garbage is collected after it, if there is much."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return act(*given)
    finally:
        if was_enabled:
            gc.enable()
        if gc.get_count()[0] > PILE:
            gc.collect()


@contextmanager
def _deaf(*signals: signal.Signals) -> Iterator[None]:
    """Whatever starts meanwhile never hears these: a process inherits what the thread that starts it has blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def orphaned() -> bool:
    """Whether this is such a process and its parent has died: whatever it does now, somebody else may be doing again."""
    parent = multiprocessing.parent_process()
    return parent is not None and os.getppid() != parent.pid


def _serve_as_copy(pipe: Connection) -> None:
    # how its parent ends is no way for it to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    for end in _ours:
        end.close()
    _serve(pipe)


def _serve(pipe: Connection) -> None:
    gc.disable()
    # what is there by now is nobody's garbage, and is not looked through for any
    gc.freeze()
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
