"""How much an agent in bubblewrap may take, and what becomes of it above that; and traps that it may set for itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.bubblewrap.bounds import GONE, KILLED_INSIDE, Watched, Watcher
from harness.runtimes.bubblewrap.folders import Folder, folders_root
from harness.runtimes.bubblewrap.rooms import BASE_ENV, POD, main_room
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.bubblewrap.sandbox import Control, null
from harness.runtimes.bubblewrap.templates import Template
from tests.bubblewrap.players import Player

pytestmark = pytest.mark.bubblewrap

Specs = Callable[..., EpisodeSpec]

HOGS = """
for n in 1 2 3 4 5; do
    python3 -c 'import time; held = bytearray(b"x") * (700 << 20); time.sleep(100)' 2> /dev/null &
done
for n in {1..150}; do
    test $(jobs -rp | wc -l) -le 1 && break
    /usr/bin/sleep 0.1
done
echo alive: $(jobs -rp | wc -l)
kill -9 $(jobs -rp)
"""

FILL = "for n in 1 2 3; do head -c 90M /dev/zero > {}/big$n; done"

MANY = """
import os
for place in ("/workspace", "/tmp", "/dev/shm"):
    made = 0
    try:
        for made in range(300_000):
            open(f"{place}/{made}", "w").close()
    except OSError as error:
        print(place, error.strerror, made)
    os.chdir(place)
    for number in range(made):
        os.unlink(str(number))
"""

SESSION_KEYRING = """
import ctypes, os
print(ctypes.CDLL(None).syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 0))
"""
"""Prints the number of the session keyring (KEYCTL_GET_KEYRING_ID)."""

SLOW = """
import socket, time
links = []
while len(links) < 900:
    links.append(socket.create_connection(("api", 8080), 20))
    links[-1].send(b"" if len(links) % 2 else b"GET /hello HTTP/1.1\\r\\nX: ")
open(f"/tmp/slow-{__import__('os').getpid()}", "w").close()
time.sleep(100)
"""


def test_a_pod_has_its_memory_and_no_more(play: Player) -> None:
    """Five processes of 700 MB do not pass where 1,024 MB are allowed; it is said, and the episode goes on."""
    played = play(HOGS, "echo then", memory_mb=1024)

    assert "alive: 5" not in played.output[0]
    assert played.output[0].endswith((GONE.decode(), KILLED_INSIDE.decode()))
    assert played.output[1] in {"then\n", GONE.decode()}
    assert played.answered == 200
    assert played.log > 0


def test_folders_in_memory_are_part_of_it(play: Player) -> None:
    """Files that no process has mapped use up the pod's memory like everything else."""
    played = play(FILL.format("/workspace"), FILL.format("/tmp"), "echo then", memory_mb=256)

    assert any(output.endswith((GONE.decode(), KILLED_INSIDE.decode())) for output in played.output)
    assert played.answered == 200


def test_shared_pages_count_once(play_counted: Player) -> None:
    """A process of 200 MB with three children that share them all, and a mapping that two share, fit into 400 MB."""
    fork = """
import mmap, os, time
held = bytearray(b"x") * (200 << 20)
shared = mmap.mmap(-1, 60 << 20)
shared.write(b"x" * (60 << 20))
for _ in range(3):
    if os.fork() == 0:
        shared[::4096]
        time.sleep(2)
        os._exit(0)
for _ in range(3):
    os.wait()
print("done")
"""
    played = play_counted(f"python3 -c '{fork}'", memory_mb=400)

    assert played.output == ["done\n"]


def test_shared_memory_without_a_name_counts(play_counted: Player) -> None:
    """Pages of a shared mapping lie in no folder and belong to nobody alone."""
    hold = """
import mmap, time
held = mmap.mmap(-1, 600 << 20)
for _ in range(600):
    held.write(b"x" * (1 << 20))
time.sleep(20)
print("held")
"""

    assert play_counted(f"python3 -c '{hold}'", memory_mb=400).output == [GONE.decode()]


def test_files_are_limited_in_number(play: Player) -> None:
    """300,000 empty files end in ENOSPC in every place, and nobody can mount a place of his own."""
    played = play(
        f"python3 - << 'EOP'\n{MANY}\nEOP",
        "unshare -Ur true || echo no namespace; unshare -Urm mount -t tmpfs -o size=20g none /tmp || echo no mount",
    )

    full = "No space left on device"
    assert played.output[0].splitlines() == [f"/workspace {full} 65535", f"/tmp {full} 65535", f"/dev/shm {full} 16383"]
    assert played.output[1].splitlines()[-1] == "no mount"
    assert "no namespace" in played.output[1]


def test_an_agent_may_shut_its_own_folders(play: Player) -> None:
    """Later commands run, in / where they may not enter /workspace, and say so."""
    played = play(
        "chmod 700 /workspace; rm -rf /tmp /workspace 2> /dev/null; mv /workspace /x 2> /dev/null; pwd",
        "pwd; chmod 000 /workspace /tmp 2> /dev/null; true",
        "pwd; HOME=/nowhere bash -lc 'echo home'; chmod 755 /workspace",
        "pwd",
    )

    assert [code for code, _ in played.done] == [0] * 4
    shut = "/workspace: Permission denied; this command runs in /\n/\nhome\n"
    assert played.output == ["/workspace\n", "/workspace\n", shut, "/workspace\n"]
    assert played.answered == 200


@pytest.fixture
def origin(runtime: BubblewrapRuntime) -> Iterator[Template]:
    """A template of the agent's room, which has imported nothing."""
    made = Template(runtime.environments.room("agent"), (), folders_root(), runtime.environments.folder)
    yield made
    made.close()


def test_what_main_is_made_of_has_no_mount_that_may_leave(runtime: BubblewrapRuntime, origin: Template, tmp_path: Path) -> None:
    """A mount that leaves while bwrap starts ends it, so a pod shows it the few folders it needs, no other."""
    folder, outer = Folder.make(), Control()
    look = f"cut -d' ' -f5 /proc/self/mountinfo; test ! -e {tmp_path}"
    try:
        with folder.log("said") as said, null() as nothing:
            outer.configure()
            sandbox = origin.fork(POD, folder, outer, [nothing, nothing, said, outer.far.fileno()])
            outer.start("look", ["bash", "-c", look], [nothing, said, said], {"PATH": os.defpath}, on_host=True)
        assert outer.ended("look", 20) == 0
        needed = ("/usr", "/etc", "/proc", "/dev", "/bin", "/sbin", "/lib", str(runtime.environments.folder))
        seen = folder.read("said", 65_536).decode().split()
        assert [place for place in seen if place != "/" and not place.startswith((*needed, str(folders_root())))] == []
        assert str(folders_root()) in seen
        sandbox.close()
    finally:
        outer.close()
        folder.remove()


def test_each_sandbox_has_a_keyring_of_its_own(runtime: BubblewrapRuntime, origin: Template) -> None:
    """A template, its pod and the pod's rooms have four different session keyrings, and none is this process's."""
    folder, outer, rooms = Folder.make(), Control(), [Control(), Control()]
    agent = runtime.environments.room("agent")
    try:
        with folder.log("said") as said, null() as nothing:
            outer.configure()
            for control in (origin.control, outer):
                if control is outer:
                    sandbox = origin.fork(POD, folder, outer, [nothing, nothing, said, outer.far.fileno()])
                control.start("ask", ["python3", "-c", SESSION_KEYRING], [nothing, said, said], BASE_ENV)
            for number, room in enumerate(rooms):
                start = main_room(folder, agent, None, groups=0)
                # Without its filter, or nobody in there could ask.
                room.configure(**{**start.config, "calls": None, "limits": {}})
                files = [nothing, nothing, said, room.far.fileno()]
                outer.start(f"room{number}", start.argv, files, {}, mounts=start.mounts, on_host=True)
                room.start("ask", ["python3", "-c", SESSION_KEYRING], [nothing, said, said], BASE_ENV)
                assert room.ended("ask", 20) == 0
                shutil.rmtree(folder.path / "etc-main")
        assert origin.control.ended("ask", 20) == outer.ended("ask", 20) == 0
        sandbox.close()
        own = subprocess.run([sys.executable, "-c", SESSION_KEYRING], capture_output=True, check=True).stdout.decode()
        assert len({*folder.tail("said").split(), *own.split()}) == 5
    finally:
        for control in (outer, *rooms):
            control.close()
        folder.remove()


def test_too_little_memory_has_a_reason(runtime: BubblewrapRuntime, task: Task, spec: Specs) -> None:
    """A machine that cannot start a single command is refused with the number, before anything runs."""
    environment = task.file.environment.model_copy(update={"memory_mb": 1})
    tiny = replace(task, file=task.file.model_copy(update={"environment": environment}))

    assert (runtime.refuses(tiny) or "").endswith("memory_mb = 1 is too little to start a command: a sandbox needs 32 MB")
    with pytest.raises(RuntimeFailure, match="memory_mb = 1 is too little"), runtime.open(spec(task=tiny, needs_main=True)):
        pass


def test_the_least_memory_is_enough(play: Player) -> None:
    """With the least that a task.toml may ask for, commands run."""
    assert play("echo fine", memory_mb=64).output == ["fine\n"]


def test_a_crowd_of_connections_makes_no_world_deaf(play: Player) -> None:
    """1,800 half-open connections: the agent's own next command is answered, and so is the host throughout."""
    start = "setsid python3 /tmp/slow.py > /dev/null 2>&1 &"
    crowded = "test $(ls /tmp/slow-* 2> /dev/null | wc -l) = 2"
    played = play(
        f"cat > /tmp/slow.py << 'EOP'\n{SLOW}\nEOP",
        f"{start} {start} for _ in {{1..900}}; do {crowded} && break; /usr/bin/sleep 0.05; done; ls /tmp/slow-* | wc -l",
        "curl -s -m 20 http://api:8080/hello | head -c 7; curl -s -m 20 -o /dev/null -w '%{http_code}' http://api:8080/hello",
    )

    assert played.output == ["", "2\n", '{"says"200']
    assert played.answered == 200


def test_limits_say_what_holds(play: Player) -> None:
    """What doctor tells depends on whether there is a control group, and on whose sandboxes these are."""
    limits = play("true").limits

    assert ("no control group can be created" in limits) == (play.who != "here")
    assert ("one user id" in limits) == (play.who == "user")
    assert "CPU of a pod is not limited" in limits


def test_the_watcher_ends_with_its_last_room() -> None:
    """One thread looks after all rooms, and there is none where there is nothing to watch."""
    watcher = Watcher()
    rooms = [Watched(lambda: None, 1, (), lambda: None) for _ in range(3)]
    for room in rooms:
        watcher.watch(room)
    assert [thread.name for thread in threading.enumerate()].count("parley-watcher") == 1
    for room in rooms:
        watcher.leave(room)
    for thread in threading.enumerate():
        if thread.name == "parley-watcher":
            thread.join(10)
    assert "parley-watcher" not in [thread.name for thread in threading.enumerate()]
