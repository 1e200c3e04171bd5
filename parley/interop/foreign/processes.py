"""Killing of all processes of the agent before a shared verifier starts; the container's own services continue.

A root agent may have replaced sh, ps and kill, and two processes can restart each other faster than they can be killed.
Therefore no program of the container is used, and processes are frozen first:
1. Before the agent's first command, the existing processes are recorded, each with its start time.
2. Afterwards the container is frozen. A helper, in a container of our own image that shares only its process namespace, spares
the recorded processes and their children, and sends SIGKILL to all others. Orphans belong to process 1 and do not count as its
children, so an orphan that was not recorded is killed.
3. The container thaws, and processes with a pending SIGKILL die before their next instruction.
A process can rename itself, daemonize and change its session, but it cannot change its start time, or its parent to a recorded
process. A container without services of its own is restarted instead, which no process survives, and so is one that cannot be
frozen. Both are described in docs/decisions/0019-shared-verifier.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from harness.errors import RuntimeFailure
from harness.runtimes.docker.engine.client import Engine

LIST = "cat /proc/[0-9]*/stat 2> /dev/null || true"
"""Command that prints the existing processes, run with the image's own cat before the agent. A process may end meanwhile."""

_FREEZES_AGAIN_S = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Real seconds between attempts to freeze: on a busy host freezing may fail while processes are being created."""
_HELPER_S = 60
_HELPER = """
import json, os, signal, sys
kept = {(pid, start) for pid, start in json.loads(sys.argv[1])}
alive = {}
for name in filter(str.isdecimal, os.listdir("/proc")):
    try:
        with open(f"/proc/{name}/stat", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        continue
    if int(name) != os.getpid():
        alive[int(name)] = (int(fields[1]), int(fields[19]))

def stays(pid):
    seen = set()
    while pid in alive and pid not in seen:
        seen.add(pid)
        parent, start = alive[pid]
        if (pid, start) in kept:
            return True
        if parent == 1:
            return False
        pid = parent
    return False

for pid in alive:
    if not stays(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
"""


def listed(stat: bytes) -> list[tuple[int, int]]:
    """Parse the output of `LIST` into process ids with their start times in clock ticks since boot (proc(5), field 22)."""
    processes = []
    for line in stat.decode("utf-8", "replace").splitlines():
        head, _, rest = line.rpartition(")")
        fields = rest.split()
        if len(fields) > 19 and head.partition(" ")[0].isdecimal():
            processes.append((int(head.partition(" ")[0]), int(fields[19])))
    return processes


def kill_others(engine: Engine, container: str, kept: list[tuple[int, int]], image: str, labels: Mapping[str, str]) -> None:
    """Kill every process of a container except those in `kept` and their children; raises RuntimeFailure if that fails."""
    _freeze(engine, container)
    helper = ""
    try:
        host = {
            "pid_mode": f"container:{container}", "network_mode": "none", "read_only": True, "cap_drop": ["ALL"],
            "cap_add": ["KILL"], "security_opt": ["no-new-privileges"], "mem_limit": "128m", "pids_limit": 16,
        }  # fmt: skip
        command = ["python3", "-I", "-S", "-c", _HELPER, json.dumps(kept)]
        helper = engine.create(image, command, host=host, user="0", entrypoint=[], labels=dict(labels))
        engine.start(helper)
        if (code := engine.wait(helper, _HELPER_S)) != 0:
            raise RuntimeFailure(
                f"the helper that ends the agent's processes ended with {code}: {engine.log_tail(helper)[-200:]!r}"
            )
    finally:
        if helper:
            engine.remove(helper)
        with engine.doing("thawing a container") as api:
            api.unpause(container)


def _freeze(engine: Engine, container: str) -> None:
    for wait_s in (*_FREEZES_AGAIN_S, None):
        try:
            with engine.doing("freezing a container") as api:
                api.pause(container)
            return
        except RuntimeFailure:
            if wait_s is None:
                raise
            time.sleep(wait_s)
