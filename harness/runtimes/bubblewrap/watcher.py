"""Watcher for the memory of pods without a control group: one thread per process, ten checks a second.

A pod's memory is counted roughly, and then exactly if the rough figure is above the limit:
1. The rough figure adds up the private memory of each process, and the pages of the pod's tmpfs. A page shared by several
processes after a fork counts once for each, so the figure is never too small.
2. The exact figure divides each such page among the processes that share it (proc(5), Pss). A process that cannot be inspected
counts in full.
Files mapped from a pod's own tmpfs are counted only once, there. Memory that no process has mapped is not counted: buffers of
sockets and pipes, page tables, inodes, pages of a shared mapping that its owner released. The filter of such a pod forbids
memfd and System V segments, which would be of that kind.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PAUSE_S = 0.1
KILOBYTE = 1024
UNNAMED = ("/dev/zero", "/memfd:", "/SYSV")
"""Names in /proc/[pid]/smaps of shared memory that belongs to no folder."""


@dataclass(frozen=True)
class Watched:
    """Watched room: its PID 1 as numbered on this host, its limit in bytes, its folders in memory, and how to end it."""

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
        """Watch a room until it exceeds its limit, which ends it, or `leave` is called."""
        with self._lock:
            self._watched.add(room)
            if not self._running:
                self._running = True
                threading.Thread(target=self._look, name="parley-watcher", daemon=True).start()

    def leave(self, room: Watched) -> None:
        """Stop watching a room; safe to call twice."""
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
    """Return True if a room uses more than `most` bytes; False if it is gone."""
    root = f"/proc/{process}/root"
    files = sum(_pages(root + place) for place in places)
    rough = files + sum(_own(f"{root}/proc/{pid}/status") for pid in _processes(root))
    return rough > most and files + sum(_share(f"{root}/proc/{pid}") for pid in _processes(root)) > most


def _processes(root: str) -> list[str]:
    """Return the processes of a room, as listed in its own /proc."""
    with suppress(OSError), os.scandir(f"{root}/proc") as entries:
        return [entry.name for entry in entries if entry.name.isdecimal()]
    return []


def _pages(place: str) -> int:
    with suppress(OSError):
        space = os.statvfs(place)
        return (space.f_blocks - space.f_bfree) * space.f_frsize
    return 0


def _own(status: str) -> int:
    """Return the bytes of a process that belong to no file."""
    return sum(size for name, size in _sizes(status) if name in ("RssAnon:", "RssShmem:"))


def _share(folder: str) -> int:
    """Return the bytes of a process, with shared pages counted in proportion."""
    sizes = dict(_sizes(f"{folder}/smaps_rollup"))
    if "Pss_Anon:" not in sizes:
        return _own(f"{folder}/status")
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


def _sizes(path: str) -> Iterator[tuple[str, int]]:
    for line in _lines(path):
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            yield words[0], int(words[1]) * KILOBYTE


def _lines(path: str) -> list[str]:
    """Return the lines of a file of /proc; empty if its process has ended."""
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii", errors="replace").splitlines()
    return []
