"""Who owns what an episode left behind: a host, a process, and the moment that process started.

A process id alone is reused; with its start time it names one process for ever. Only what belongs to a dead process of this
very host may be swept: a second live run, or a run on another machine that shares the engine, keeps everything.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

RUN_LABEL, EPISODE_LABEL, OWNER_LABEL = "parley.run", "parley.episode", "parley.owner"


def this_owner() -> str:
    """This process, as `host:pid:start`."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this host that has ended; False for anything that cannot be told."""
    host, pid, started = ["", "", "", *owner.rsplit(":", 2)][-3:]
    if host != socket.gethostname() or not (pid.isdecimal() and started.isdecimal()):
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """When a process started, in clock ticks since boot (proc(5), stat field 22); empty where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the program's name in parentheses, and may hold anything.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]
