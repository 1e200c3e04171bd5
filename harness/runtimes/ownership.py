"""Owner of an episode's resources: a host, a process, and the start time of that process.

A process id alone is reused; with its start time it identifies one process permanently. Only resources of a dead process of
this host may be swept. Those of another live run, or of a run on another machine that shares the engine, are kept.
"""

from __future__ import annotations

import os
import socket
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
    # The second field is the program's name in parentheses, and may hold anything.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]
