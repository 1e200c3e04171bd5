"""Memory limit of an agent's machine: a control group if this host lets us make one, otherwise the watcher.

In both cases the agent bears the consequence: one of its processes ends, or its whole machine, and its commands report that.
The episode continues and is graded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.errors import RuntimeFailure, boundary
from harness.runtimes.bubblewrap.cgroups import Cgroup, hierarchies
from harness.runtimes.bubblewrap.rooms import KEEPERS, MAIN_SCRATCH, PROCESSES
from harness.runtimes.bubblewrap.view import MEGABYTE
from harness.runtimes.bubblewrap.watcher import Watched, Watcher

GONE = b"this machine ran out of memory and is gone\n"
KILLED_INSIDE = b"this machine ran out of memory: a process of it was ended\n"


def has_groups() -> bool:
    """Return True if sandboxes are limited by control groups here."""
    return hierarchies() is not None


def new_group(memory_mb: int) -> Cgroup | None:
    """Create a control group for one sandbox; return None if this host offers none. Raises RuntimeFailure if it is refused."""
    places = hierarchies()
    with boundary(RuntimeFailure, "making a control group", OSError):
        return None if places is None else places.make(memory_mb, PROCESSES + KEEPERS)


@contextmanager
def entrances(group: Cgroup | None) -> Iterator[list[int]]:
    """Yield the open files through which a sandbox joins its group; empty if it has no group."""
    files: list[int] = []
    try:
        with boundary(RuntimeFailure, "opening a control group", OSError):
            for path in group.entrances if group is not None else []:
                files.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))  # noqa: PERF401 - what was opened must be closed
        yield files
    finally:
        for file in files:
            os.close(file)


class Machine:
    """Memory limit of one `main`."""

    def __init__(self, memory_mb: int, watcher: Watcher, process: Callable[[], int | None], end: Callable[[], object]) -> None:
        """Create the limit; `process` returns its PID 1 as numbered on this host, and `end` ends it."""
        self.group = new_group(memory_mb)
        self._watcher, self._end = watcher, end
        self._ended = False
        self._kills = 0
        places = [scratch.place for scratch in MAIN_SCRATCH]
        self._watched = Watched(process, memory_mb * MEGABYTE, tuple(places), self._end_it)

    def watch(self) -> None:
        """Start watching its memory, if it has no group."""
        if self.group is None:
            self._watcher.watch(self._watched)

    def notice(self, ended: Callable[[], bool]) -> bytes:
        """Return the message for the agent after a command; `ended`, called if needed, returns True if its machine is gone."""
        kills = self.group.kills() if self.group is not None else 0
        before, self._kills = self._kills, kills
        if self._ended or (kills and ended()):
            return GONE
        return KILLED_INSIDE if kills > before else b""

    def close(self) -> None:
        """Release the group or the watcher once the machine is gone; safe to call twice."""
        self._watcher.leave(self._watched)
        if self.group is not None:
            self.group.remove()

    def _end_it(self) -> None:
        self._ended = True
        self._end()
