"""Killing of all processes of the agent before a shared verifier starts; the container's own services continue.

A root agent may have replaced sh, ps and kill, and two processes can restart each other faster than they can be killed. So no
program of the container is used. The container is frozen. Then a helper container from our own image, which shares the process
namespace, kills all processes except those recorded before the agent's first command and their children. A process cannot
change its start time, by which it is recorded, nor become the child of a recorded process: orphans belong to process 1, but do
not count as its children. docs/decisions/0019-shared-verifier.md gives the reasons, and says what is done if freezing fails.
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
    host = {
        "pid_mode": f"container:{container}", "network_mode": "none", "read_only": True, "cap_drop": ["ALL"],
        "cap_add": ["KILL"], "security_opt": ["no-new-privileges"], "mem_limit": "128m", "pids_limit": 16,
    }  # fmt: skip
    command = ["python3", "-I", "-S", "-c", _HELPER, json.dumps(kept)]
    _freeze(engine, container)
    try:
        with engine.running(image, command, host=host, user="0", entrypoint=[], labels=dict(labels)) as helper:
            if (code := engine.wait(helper, _HELPER_S)) != 0:
                said = engine.log_tail(helper)[-200:]
                raise RuntimeFailure(f"the helper that ends the agent's processes ended with {code}: {said!r}")
    finally:
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
