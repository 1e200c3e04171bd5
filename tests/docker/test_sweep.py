"""The sweep takes what dead processes of this host left, in any state, and nothing else."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from harness.orphans import OWNER_LABEL, RUN_LABEL, is_dead, this_owner
from harness.pod import EpisodeSpec
from harness.runtimes.docker.runtime import DockerRuntime
from worlds.core.wire import request

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]
HOST = socket.gethostname()

CHILD = """
import sys
from harness.registry import read_task
from harness.pod import EpisodeSpec
from harness.runtimes.docker.runtime import DockerRuntime
from pathlib import Path

with DockerRuntime().open(EpisodeSpec(sys.argv[2], "child", read_task(Path(sys.argv[1])), 0, needs_main=True)):
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def make(runtime: DockerRuntime) -> Iterator[Callable[..., str]]:
    """Creates small containers with labels of one's choice; those that are still there at the end are removed."""
    made: list[str] = []

    def create(labels: dict[str, str], *, started: bool = False) -> str:
        made.append(runtime.engine.create("parley/agent:1", ["/usr/bin/sleep", "60"], host={}, labels=labels))
        if started:
            runtime.engine.start(made[-1])
        return made[-1]

    yield create
    for container in made:
        runtime.engine.remove(container)


def dead_owner() -> str:
    """A process of this host that has ended."""
    asked = "from harness.orphans import this_owner; print(this_owner())"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def here(runtime: DockerRuntime, containers: list[str]) -> list[bool]:
    """Which containers still exist."""
    known = {container["Id"] for container in runtime.engine.api.containers(all=True)}
    return [container in known for container in containers]


def test_only_what_dead_owners_left_goes(runtime: DockerRuntime, make: Callable[..., str]) -> None:
    """Of a live owner's, a dead owner's (created and running), another host's and a stranger's, only the dead owner's go."""
    dead = dead_owner()
    reused = f"{HOST}:{this_owner().split(':')[1]}:1"
    containers = [
        make({OWNER_LABEL: this_owner()}, started=True),
        make({OWNER_LABEL: dead}),
        make({OWNER_LABEL: dead}, started=True),
        make({OWNER_LABEL: reused}),
        make({OWNER_LABEL: "elsewhere:1:1"}),
        make({RUN_LABEL: "no-owner"}),
        make({}),
    ]
    volume = f"parley-test-{secrets.token_hex(4)}"
    runtime.engine.api.create_volume(volume, labels={OWNER_LABEL: dead})

    left = {one.name: one for one in runtime.leftovers()}
    names = {str(one["Id"]): str(one["Names"][0]).lstrip("/") for one in runtime.engine.api.containers(all=True)}
    assert [names[container] in left for container in containers] == [False, True, True, True, False, False, False]
    assert (left[volume].kind, left[volume].process) == ("volume", dead.split(":")[1])
    assert all(one.age_s is not None and one.age_s < 86400 for one in (left[volume], left[names[containers[1]]]))

    swept = runtime.sweep()

    assert here(runtime, containers) == [True, False, False, False, True, True, True]
    assert volume in swept
    assert runtime.sweep() == []


def test_killed_run_is_swept_and_a_live_one_survives(runtime: DockerRuntime, spec: Specs) -> None:
    """While a second run plays on, everything of a run that was killed with -9 goes: containers and clock."""
    one = spec()
    arguments = [sys.executable, "-c", CHILD, str(one.task.path), one.run_id]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, text=True, **pipes) as child, runtime.open(spec("live")) as pod:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        found = runtime.engine.labelled("parley.episode=child")["containers"]

        swept = runtime.sweep()

        assert {container["Names"][0].lstrip("/") for container in found} <= set(swept)
        assert sum(name.startswith("parley-clock-") for name in swept) >= 1
        assert pod.call(request("GET", "/hello")).status == 200
    # the engine may still be making what the dead process asked for last; the next sweep takes it
    deadline = time.monotonic() + 30
    while runtime.engine.labelled("parley.episode=child")["containers"] and time.monotonic() < deadline:
        time.sleep(0.5)
        runtime.sweep()


@pytest.mark.parametrize(
    ("owner", "dead"),
    [
        (this_owner(), False),
        (f"{HOST}:{2**22 + 1}:5", True),
        (f"{HOST}:1:0", True),
        ("elsewhere:1:0", False),
        (f"{HOST}:x:y", False),
        (HOST, False),
        ("", False),
    ],
    ids=["ours", "no-such-process", "reused", "elsewhere", "no-number", "host-alone", "nothing"],
)
def test_an_owner_is_dead_only_when_that_is_certain(owner: str, dead: bool) -> None:
    """Another host, or a label that cannot be read, counts as alive."""
    assert is_dead(owner) == dead
