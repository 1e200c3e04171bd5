"""Memory limit of an agent's sandbox: a control group if this host permits one, otherwise a watcher of the pod's memory.

In both cases, exceeding the limit ends one of the agent's processes or its whole sandbox, and its commands report that. The
episode continues and is graded.

The watcher is one thread per process, with ten checks a second. It counts a pod's memory roughly (the private memory of each
process, where a page shared after a fork counts once for each, and the pages of the pod's tmpfs), and exactly if that is above
the limit (each such page divided among its processes: proc(5), Pss). A process that cannot be inspected counts in full. Memory
that no process has mapped is not counted: buffers of sockets and pipes, page tables, inodes, pages of a shared mapping that its
owner released. Because memfd and System V segments may be such memory, the filter of a watched pod forbids them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RuntimeFailure, boundary
from harness.runtimes.bubblewrap.cgroups import Cgroup, hierarchies
from harness.runtimes.bubblewrap.rooms import KEEPERS, MAIN_SCRATCH, MEGABYTE, PROCESSES

PAUSE_S = 0.1
KILOBYTE = 1024
UNNAMED = ("/dev/zero", "/memfd:", "/SYSV")
"""Names in /proc/[pid]/smaps of shared memory that belongs to no folder."""


@dataclass(frozen=True)
class Watched:
    """Watched sandbox: its PID 1 as numbered on this host, its limit in bytes, its folders in memory, and how to end it."""

    process: Callable[[], int | None]
    most: int
    places: Sequence[str]
    end: Callable[[], object]


class Watcher:
    """Thread that runs while there is something to watch."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._watched: set[Watched] = set()
        self._running = False

    def watch(self, room: Watched) -> None:
        """Watch a sandbox until `leave` is called, and end it if it exceeds its limit."""
        with self._lock:
            self._watched.add(room)
            if not self._running:
                self._running = True
                threading.Thread(target=self._look, name="parley-watcher", daemon=True).start()

    def leave(self, room: Watched) -> None:
        """Stop watching a sandbox; safe to call twice."""
        with self._lock:
            self._watched.discard(room)
            self._lock.notify_all()

    def _look(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: not self._watched, PAUSE_S)
                rooms = list(self._watched)
                if not rooms:
                    self._running = False
                    return
            for room in rooms:
                process = room.process()
                if process is not None and is_above(process, room.places, room.most):
                    self.leave(room)
                    room.end()


def is_above(process: int, places: Sequence[str], most: int) -> bool:
    """Return True if a sandbox uses more than `most` bytes; False if it is gone."""
    root = f"/proc/{process}/root"
    files = sum(_pages(root + place) for place in places)
    rough = files + sum(_own(f"{root}/proc/{pid}") for pid in _processes(root))
    return rough > most and files + sum(_share(f"{root}/proc/{pid}") for pid in _processes(root)) > most


def _processes(root: str) -> list[str]:
    """Return the processes of a sandbox, as listed in its own /proc."""
    with suppress(OSError), os.scandir(f"{root}/proc") as entries:
        return [entry.name for entry in entries if entry.name.isdecimal()]
    return []


def _pages(place: str) -> int:
    with suppress(OSError):
        space = os.statvfs(place)
        return (space.f_blocks - space.f_bfree) * space.f_frsize
    return 0


def _own(folder: str) -> int:
    """Return the bytes of a process that belong to no file."""
    sizes = _sizes(f"{folder}/status")
    return sizes.get("RssAnon:", 0) + sizes.get("RssShmem:", 0)


def _share(folder: str) -> int:
    """Return the bytes of a process, with shared pages counted in proportion."""
    sizes = _sizes(f"{folder}/smaps_rollup")
    if "Pss_Anon:" not in sizes:
        return _own(folder)
    return sizes["Pss_Anon:"] + (_unnamed(f"{folder}/smaps") if sizes.get("Pss_Shmem:") else 0)


def _unnamed(smaps: str) -> int:
    """Return the bytes of shared memory outside of folders, counted in proportion."""
    total, counts = 0, False
    for line in _lines(smaps):
        words = line.split(None, 5)
        if "-" in words[0] and not words[0].endswith(":"):
            counts = len(words) > 5 and words[5].startswith(UNNAMED)
        elif counts and words[0] == "Pss:":
            total += int(words[1]) * KILOBYTE
    return total


def _sizes(path: str) -> dict[str, int]:
    lines = (line.split() for line in _lines(path))
    return {words[0]: int(words[1]) * KILOBYTE for words in lines if len(words) == 3 and words[2] == "kB"}


def _lines(path: str) -> list[str]:
    """Return the lines of a file of /proc; empty if its process has ended."""
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    return []


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
    with ExitStack() as stack:
        with boundary(RuntimeFailure, "opening a control group", OSError):
            for path in group.entrances if group is not None else []:
                files.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
                stack.callback(os.close, files[-1])
        yield files


class Machine:
    """Memory limit of one `main`."""

    def __init__(self, memory_mb: int, watcher: Watcher, process: Callable[[], int | None], end: Callable[[], object]) -> None:
        """Create the limit; `process` returns its PID 1 as numbered on this host, and `end` ends it."""
        self.group = new_group(memory_mb)
        self._watcher, self._end = watcher, end
        self._ended = False
        self._kills = 0
        places = tuple(scratch.place for scratch in MAIN_SCRATCH)
        self._watched = Watched(process, memory_mb * MEGABYTE, places, self._end_it)

    def watch(self) -> None:
        """Start watching the sandbox's memory, if it has no group."""
        if self.group is None:
            self._watcher.watch(self._watched)

    def notice(self, ended: Callable[[], bool]) -> bytes:
        """Return the message for the agent after a command; `ended`, called if needed, returns True if its sandbox is gone."""
        kills = self.group.kills() if self.group is not None else 0
        before, self._kills = self._kills, kills
        if self._ended or (kills and ended()):
            return GONE
        return KILLED_INSIDE if kills > before else b""

    def close(self) -> None:
        """Release the group or the watcher once the sandbox is gone; safe to call twice."""
        self._watcher.leave(self._watched)
        if self.group is not None:
            self.group.remove()

    def _end_it(self) -> None:
        self._ended = True
        self._end()
