"""Owners of an episode's resources, and the resources that a dead owner left behind on this host.

An owner is a host, a process, and the start time of that process, because a process id alone is reused; with its start time it
identifies one process permanently. Only resources of a dead process of this host may be swept. Those of another live run, or of
a run on another machine that shares the engine, are kept.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

RUN_LABEL, EPISODE_LABEL, OWNER_LABEL = "parley.run", "parley.episode", "parley.owner"


def this_owner() -> str:
    """Return this process as `host:pid:start`."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Return True if an owner was a process of this host that has ended; False if that is unknown."""
    host, pid, started = ["", "", "", *owner.rsplit(":", 2)][-3:]
    if host != socket.gethostname() or not (pid.isdecimal() and started.isdecimal()):
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """Return the start time of a process in clock ticks since boot (proc(5), stat field 22); "" if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the program's name in parentheses, and may contain any character.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


@dataclass(frozen=True)
class Orphan:
    """Resource that outlived its owner."""

    kind: str
    """Kind of resource: container, volume, network, sandbox folder, cgroup, episode folder, file."""

    name: str
    process: str
    """Process id of the owner; "" if it is no longer known."""

    run: str = ""
    made: float | None = None
    """Creation time in seconds since 1970; None if it is unknown."""

    @property
    def age_s(self) -> float | None:
        """Age in seconds."""
        return None if self.made is None else max(0.0, time.time() - self.made)


def changed_at(path: Path) -> float | None:
    """Return the time at which a file or folder last changed; None if it does not exist."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def moment(told: object) -> float | None:
    """Parse a time as container engines report it: seconds since 1970, or ISO 8601 with any number of decimals."""
    if isinstance(told, int | float):
        return float(told)
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except ValueError:
        return None
