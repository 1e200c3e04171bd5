"""Control groups that limit the memory and the processes of a whole sandbox, if this host permits them.

Version 1 (cgroups(7)): a group in the memory and the pids hierarchy, each below the group of this process, so that our own
limits apply too. Version 2: one group, in the nearest ancestor group that delegates memory and pids and is writable by us; a
group that was delegated to us alone delegates them once we have moved into a child of it. Version 1 runs in our tests; version
2 was tested only against a copy of its files. A sandbox's PID 1 joins by writing to files that the host opened for it, before
it starts anything. It has one thread, so in version 1 it joins as a thread, in 0.1 ms; to move a process, the kernel would wait
10 ms for all other forks on the machine. A group is named after its owner, so that a sweep can identify orphans. Its processes
can read its name, so the host's name is hashed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.orphans import Orphan, changed_at, is_dead, this_owner

PREFIX = "parley."
SELF = Path("/proc/self")
CONTROLLERS = frozenset({"memory", "pids"})
ENTRANCES = {1: "tasks", 2: "cgroup.procs"}
"""Name of the file for joining a group, by version."""

LIMITS = {1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), 2: ("memory.max", "memory.swap.max")}
"""Files of the limits of memory, and of memory with swap or of swap, by version."""

REMOVAL_PAUSES_S = (0.0, 0.01, 0.05, 0.2, 0.5)
"""Pauses before attempts to remove a group, whose last process may still be ending."""

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Cgroup:
    """Control group of one sandbox: a folder in each hierarchy that limits it."""

    folders: tuple[Path, ...]
    entrance: str
    """Name of the file to write to."""

    @property
    def entrances(self) -> list[Path]:
        """Files for joining: a process that writes 0 to each of them joins the group."""
        return [folder / self.entrance for folder in self.folders]

    def kills(self) -> int:
        """Return the number of processes that the kernel killed because the group ran out of memory; 0 if it is not counted."""
        for name in ("memory.oom_control", "memory.events"):
            with suppress(OSError):
                lines = [line.split() for line in (self.folders[0] / name).read_text(encoding="ascii").splitlines()]
                return sum(int(line[1]) for line in lines if line[0] == "oom_kill")
        return 0

    def remove(self) -> None:
        """Remove the group once it is empty; safe to call twice."""
        for folder in self.folders:
            _remove(folder)


@dataclass(frozen=True)
class Hierarchies:
    """Hierarchies in which this process may create groups: the parent folders, memory first, and the version."""

    parents: tuple[Path, ...]
    version: int

    def make(self, memory_mb: int, processes: int) -> Cgroup:
        """Create a group with these limits on all its processes; raises OSError if the kernel refuses."""
        name = f"{PREFIX}{_hashed_owner()}.{secrets.token_hex(4)}"
        group = Cgroup(tuple(parent / name for parent in self.parents), ENTRANCES[self.version])
        made: list[Path] = []
        try:
            for folder in group.folders:
                folder.mkdir()
                made.append(folder)
            most, swap = LIMITS[self.version]
            _write(group.folders[0] / most, memory_mb * MEGABYTE)
            # swap is forbidden if this host counts it
            with suppress(OSError):
                _write(group.folders[0] / swap, memory_mb * MEGABYTE if self.version == 1 else 0)
            _write(group.folders[-1] / "pids.max", processes)
        except OSError:
            for folder in made:
                _remove(folder)
            raise
        return group


@cache
def hierarchies(process: Path = SELF) -> Hierarchies | None:
    """Find hierarchies by creating a group in them; return None if that is not allowed. `process` is our folder in /proc."""
    for find in (_version_1, _version_2):
        try:
            places = find(process)
            if places is not None:
                places.make(64, 1).remove()
                return places
        except (OSError, ValueError):
            continue
    return None


def groups_left() -> list[Orphan]:
    """Return the groups that dead processes of this host left behind, with their owners, without removing them."""
    return [Orphan("cgroup", str(group), group.name.split(":")[1], made=changed_at(group)) for group in sorted(_left())]


def sweep() -> list[str]:
    """Remove the groups that dead processes of this host left behind, and return their names."""
    left = _left()
    for folder in left:
        _remove(folder)
    return sorted(str(folder) for folder in left if not folder.exists())


def _left() -> list[Path]:
    roots = [point for kind, point, _, options in _mounts(SELF) if kind == "cgroup2" or CONTROLLERS & options]
    return [Path(at, name) for root in roots for at, names, _ in os.walk(root) for name in names if _is_left(name)]


def _version_1(process: Path) -> Hierarchies | None:
    own = _own_groups(process)
    parents: dict[str, Path] = {}
    for kind, point, root, options in _mounts(process):
        if kind == "cgroup":
            parents |= {name: _below(point, root, own[name]) for name in CONTROLLERS & options & set(own)}
    if set(parents) != CONTROLLERS:
        return None
    return Hierarchies(tuple(dict.fromkeys(parents[name] for name in sorted(CONTROLLERS))), 1)


def _version_2(process: Path) -> Hierarchies | None:
    own = _own_groups(process).get("")
    mount = next(((point, root) for kind, point, root, _ in _mounts(process) if kind == "cgroup2"), None)
    if own is None or mount is None:
        return None
    top = mount[0]
    group = _below(top, mount[1], own)
    for place in (group, *(parent for parent in group.parents if parent == top or top in parent.parents)):
        if _words(place / "cgroup.subtree_control") >= CONTROLLERS:
            return Hierarchies((place,), 2) if os.access(place / "cgroup.procs", os.W_OK) else None
        if place == group and _hand_down(group):
            return Hierarchies((group,), 2)
    return None


def _hand_down(group: Path) -> bool:
    """Make a group that was delegated to us delegate memory and pids in turn, which requires that it has no processes."""
    if not _words(group / "cgroup.controllers") >= CONTROLLERS or _words(group / "cgroup.procs") != {str(os.getpid())}:
        return False
    leaf = group / f"{PREFIX}{_hashed_owner()}.self"
    try:
        leaf.mkdir(exist_ok=True)
        _write(leaf / "cgroup.procs", os.getpid())
        _write(group / "cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(CONTROLLERS)))
    except OSError:
        return False
    return True


def _own_groups(process: Path) -> Mapping[str, str]:
    """Return the path of a process's group by controller; that of version 2 has no name (cgroups(7), /proc/[pid]/cgroup)."""
    lines = (process / "cgroup").read_text(encoding="utf-8").splitlines()
    return {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}


def _mounts(process: Path) -> Iterator[tuple[str, Path, str, frozenset[str]]]:
    """Yield the type, mount point, root and options of each mount (proc(5), /proc/[pid]/mountinfo)."""
    for line in (process / "mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        before, _, after = line.partition(" - ")
        kind, *_, options = after.split()
        fields = before.split()
        yield kind, Path(fields[4]), fields[3], frozenset(options.split(","))


def _below(point: Path, root: str, path: str) -> Path:
    """Return the folder of a group, given by its path, on a mount that shows the tree from `root` on."""
    return point / path.removeprefix(root.rstrip("/")).lstrip("/")


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="ascii").split())
    except OSError:
        return set()


def _write(path: Path, value: object) -> None:
    path.write_text(f"{value}\n", encoding="ascii")


def _hashed_owner() -> str:
    host, pid, started = this_owner().rsplit(":", 2)
    return f"{_hash(host)}:{pid}:{started}"


def _hash(host: str) -> str:
    return hashlib.sha256(host.encode()).hexdigest()[:12]


def _is_left(name: str) -> bool:
    host, _, process = name.removeprefix(PREFIX).rpartition(".")[0].partition(":")
    return name.startswith(PREFIX) and host == _hash(socket.gethostname()) and is_dead(f"{socket.gethostname()}:{process}")


def _remove(folder: Path) -> None:
    for pause in REMOVAL_PAUSES_S:
        time.sleep(pause)
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            continue
        return
