"""A pod in bubblewrap: what it keeps from an agent, and that nothing of it outlives anybody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure, WorldFailure
from harness.pod import OUTPUT_CAP, CommandResult, EpisodeSpec, Pod
from harness.registry import Task
from harness.runtimes.bubblewrap.cgroups import hierarchies
from harness.runtimes.bubblewrap.folders import Folder, folders_root
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from worlds.core.bridge import LOCAL
from worlds.core.events import read_log
from worlds.core.wire import request

pytestmark = pytest.mark.bubblewrap

Specs = Callable[..., EpisodeSpec]
Processes = Callable[[], set[int]]

HUNT = """
import glob, json, os, subprocess, sys
wanted = {"events.jsonl", "test_outcome.py", "solve.sh", "referee.py", "instruction.md.j2", "sandbox_env.py", "sandbox.log"}
files = [os.path.join(at, name) for at, _, names in os.walk("/") if not at.startswith("/proc") for name in wanted & set(names)]
imports = [
    f"{python}: {name}"
    for python in ("/usr/local/bin/python3", "/usr/bin/python3")
    for name in ("worlds", "validators", "harness", "parley", "oracles", "fastapi", "pytest")
    if os.path.exists(python) and subprocess.run([python, "-c", "import " + name], capture_output=True).returncode == 0
]
read = [open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/cmdline")]
known = (b"inside.init", b"parley_run.py", b"hunt.py")
environs = [open(path, "rb").read() for path in glob.glob("/proc/[0-9]*/environ") if os.access(path, os.R_OK)]
print(json.dumps({
    "places": [place for place in sys.argv[1:] if os.path.lexists(place)],
    "files": files,
    "imports": imports,
    "processes": [line.decode() for line in read if not any(name in line for name in known)],
    "secrets": sum(name in block for block in environs for name in (b"PARLEY_KEY", b"PARLEY_SEED", b"PARLEY_HOST")),
}))
"""

BOMB = "import os, time\nos.setsid()\nwhile True:\n  try: os.fork()\n  except OSError: time.sleep(0.1)"

KILLED_CHILD = """
import sys, threading
from pathlib import Path
from harness.registry import read_task
from harness.pod import EpisodeSpec
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime

def play():
    with BubblewrapRuntime().open(EpisodeSpec("killed", "e", read_task(Path(sys.argv[1])), 0, needs_main=True)) as pod:
        pod.run(["bash", "-c", "setsid nohup /usr/bin/sleep 300 > /dev/null 2>&1 &"], timeout_s=9, virtual_time=False)
        print("open", flush=True)
        pod.run(["/usr/bin/sleep", "300"], timeout_s=300, virtual_time=False)

threads = [threading.Thread(target=play) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def shell(pod: Pod, script: str, *, timeout_s: float = 20) -> CommandResult:
    """Run a bash script in `main`."""
    return pod.run(["bash", "-c", script], timeout_s=timeout_s, virtual_time=False)


def test_main_sees_nothing_of_ours(runtime: BubblewrapRuntime, spec: Specs, root: Path) -> None:
    """No world, log, token, test, solution, project, environment or home; no process but its own."""
    ours = {str(root), sys.prefix, str(Path.home()), str(folders_root())} - {"/usr"}
    places = [*ours, "/root", "/home", "/state", "/tests", "/srv/world", "/opt/parley/site"]

    with runtime.open(spec(needs_main=True)) as pod:
        pod.put({"/tmp/hunt.py": HUNT.encode()})
        found = json.loads(pod.run(["python3", "/tmp/hunt.py", *places], timeout_s=60, virtual_time=False).output)

    assert found == {"places": [], "files": [], "imports": [], "processes": [], "secrets": 0}


def test_main_is_locked_down(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """No capability, no way to gain one, no other network, nothing written but in places of bounded size."""
    with runtime.open(spec(needs_main=True)) as pod:
        status = shell(pod, "grep -hE 'Cap(Eff|Prm)|NoNewPrivs' /proc/self/status").output.split()
        user = int(shell(pod, "id -u").output)
        links = shell(pod, "tail -n +3 /proc/net/dev | cut -d: -f1").output.split()
        reach = shell(pod, "curl -s -m 2 http://1.1.1.1; curl -s -m 2 http://example.com; true").output
        places = "/x /etc/x /dev/x /usr/local/x /usr/lib/python3/dist-packages/x /opt/parley/bin/sleep /run/parley/clock /srv/x"
        written = shell(pod, f"for place in {places}; do (echo > $place) 2> /dev/null && echo $place; done").output
        full = shell(pod, "for n in 1 2 3; do head -c 200M /dev/zero > big$n; done; cat big* | wc -c").output
        many = shell(pod, "for n in {1..9}; do head -c 200M /dev/zero > /dev/shm/$n; done; cat /dev/shm/* | wc -c").output

    assert status[1::2] == [b"0" * 16, b"0" * 16, b"1"]
    assert user != 0
    assert links == [b"lo"]
    assert reach == b""
    assert written == b""
    assert int(full.split()[-1]) <= 256 << 20
    assert int(many.split()[-1]) <= 64 << 20


def test_world_cannot_be_reached_but_by_http(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Host routes are closed, its port cannot be taken, its process cannot be signalled."""
    ask = "curl -s -o /dev/null -w '%{http_code} ' -H 'X-Parley-Host: guess' http://api:8080/instruction; "
    take = "import socket; s = socket.socket(); s.setsockopt(1, 15, 1); s.setsockopt(1, 2, 1); s.bind(('{}', 8080)); s.listen()"

    with runtime.open(spec(needs_main=True)) as pod:
        assert shell(pod, ask).output == b"404 "
        for address in ("", "127.0.0.1"):
            assert b"in use" in pod.run(["python3", "-c", take.format(address)], timeout_s=9).output
        # Its name stands in /proc/net/unix, but the folder that it lies in is the world's own.
        bridge = f"import socket; socket.socket(socket.AF_UNIX).connect('{LOCAL}')"
        assert b"No such file" in pod.run(["python3", "-c", bridge], timeout_s=9).output
        shell(pod, "for pid in {1..300}; do kill -9 $pid; done")
        assert pod.call(request("GET", "/hello")).status == 200


def test_hostile_commands_leave_main_usable(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Killing everything, ignoring signals, filling memory or the output ends the command, and the next one runs."""
    with runtime.open(spec(needs_main=True)) as pod:
        assert shell(pod, "kill -9 -1").code == 137
        assert shell(pod, "kill -9 1; kill -STOP 1; echo alive").output.endswith(b"alive\n")
        began = time.monotonic()
        assert shell(pod, "trap '' TERM INT HUP; while :; do :; done", timeout_s=0.5).code is None
        assert time.monotonic() - began < 20
        assert shell(pod, "python3 -c \"x = 'a' * (4 << 30)\"").code != 0
        flood = shell(pod, "head -c 100000000 /dev/zero")
        assert (flood.code, len(flood.output), flood.omitted) == (0, OUTPUT_CAP, 100_000_000 - OUTPUT_CAP)
        assert shell(pod, "no-such-program").code == 127
        assert shell(pod, "echo still here").output == b"still here\n"
        pod.finish()


def test_fork_bomb_costs_its_owner_only(runtime: BubblewrapRuntime, spec: Specs, processes: Processes) -> None:
    """A bomb is bounded, the world answers meanwhile, another pod is not touched, and the next command makes room."""
    with runtime.open(spec("e1", needs_main=True)) as pod, runtime.open(spec("e2", needs_main=True)) as other:
        pod.put({"/tmp/bomb.py": BOMB.encode()})
        before = processes()
        shell(pod, "(python3 /tmp/bomb.py > /dev/null 2>&1 &); /usr/bin/sleep 0.5", timeout_s=5)
        grown = len(processes() - before)

        assert 100 < grown <= 256
        assert pod.call(request("GET", "/hello")).status == 200
        assert shell(other, "echo fine; for n in {1..50}; do /usr/bin/sleep 1 & done; wait").output == b"fine\n"
        assert shell(pod, "echo again").output == b"again\n"
        assert len(read_log(pod.finish())) == 2


def test_main_is_dead_before_the_log_leaves(runtime: BubblewrapRuntime, spec: Specs, processes: Processes) -> None:
    """No process of main outlives finish, however it detached, and none writes an event after it."""
    with runtime.open(spec(needs_main=True)) as pod:
        shell(pod, "setsid nohup bash -c 'while :; do curl -s http://api:8080/hello; done' > /dev/null 2>&1 &")
        log = pod.finish()

        assert processes() == set()
        assert len(read_log(log)) >= 1


def test_agent_cannot_stand_in_for_a_dead_world(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Whoever takes the port of a world that died does not save the episode."""
    with runtime.open(spec(needs_main=True)) as pod:
        shell(pod, "curl -s http://api:8080/die; setsid python3 -m http.server 8080 & /usr/bin/sleep 0.5", timeout_s=5)
        with pytest.raises(WorldFailure):
            pod.call(request("GET", "/hello"))
        with pytest.raises(WorldFailure):
            pod.finish()


def test_abort_ends_a_run_from_another_thread(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """What is running fails at once, and nothing of the run starts any more."""
    with runtime.open(spec(needs_main=True)) as pod:
        threading.Timer(0.5, runtime.abort, [spec().run_id]).start()
        began = time.monotonic()
        shell(pod, "/usr/bin/sleep 30", timeout_s=40)
        with pytest.raises(RuntimeFailure):
            pod.finish()
        assert time.monotonic() - began < 20

    with pytest.raises(RuntimeFailure, match="was aborted"), runtime.open(spec()):
        pass
    with pytest.raises(RuntimeFailure, match="was aborted"):
        runtime.judge(spec(), b"")


def test_exception_inside_a_pod_leaves_nothing(runtime: BubblewrapRuntime, spec: Specs) -> None:
    """Closing removes the pod whatever happened inside."""
    with pytest.raises(ZeroDivisionError), runtime.open(spec(needs_main=True)):
        raise ZeroDivisionError


def test_kill_of_the_harness_leaves_no_process(
    runtime: BubblewrapRuntime, task: Task, root: Path, processes: Processes, eventually: Callable[..., bool]
) -> None:
    """After SIGKILL nothing runs on, and the next sweep removes the folders; those of the living stay."""
    own = Folder.make()
    before = processes()
    command = [sys.executable, "-c", KILLED_CHILD, str(task.path)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in range(2)] == [b"open\n"] * 2
        assert len(processes() - before) >= 10
        os.kill(child.pid, signal.SIGKILL)
    try:
        assert eventually(lambda: processes() <= before)
        swept = [Path(name) for name in runtime.sweep()]
        assert len([path for path in swept if path.parent == folders_root()]) == 2
        # Other tests of this host sweep too, and may have been first with the control groups.
        assert not [folder for folder in _groups() if f":{child.pid}:" in folder.name]
        assert own.path.is_dir()
        assert [name for name in runtime.sweep() if Path(name).parent == folders_root()] == []
    finally:
        own.remove()


def _groups() -> list[Path]:
    """The control groups of rooms on this host."""
    places = hierarchies()
    return [folder for parent in places.parents for folder in parent.glob("parley.*")] if places else []
