"""A verifier that stays: each log is judged apart, whatever the tests before it left, and it ends with its connection."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.orphans import OWNER_LABEL, this_owner
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.archives import pack
from harness.runtimes.docker.runtime import DockerRuntime
from harness.runtimes.docker.verifiers import WarmVerifier, WarmVerifiers, may_stay
from harness.runtimes.inprocess import InProcessRuntime
from tests.shipped import SHIPPED
from worlds.core.wire import request

pytestmark = pytest.mark.docker

LEAVES = """
import os, subprocess, time
def test_leaves():
    for place in ("/tmp/left", "/dev/shm/left"):
        open(place, "w").close()
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    print("user", os.getuid())
"""
SEES = """
import os, socket
def test_sees():
    print("user", os.getuid(), "left", [name for place in ("/tmp", "/dev/shm") for name in os.listdir(place)])
    lines = [open(f"/proc/{pid}/status").read() for pid in os.listdir("/proc") if pid.isdecimal()]
    print("users", sorted({line.split()[1] for status in lines for line in status.splitlines() if line.startswith("Uid")}))
    own = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print("rights", own["CapEff"].strip(), own["CapPrm"].strip(), own["NoNewPrivs"].strip())
    for act in (lambda: os.setuid(0), lambda: os.kill(1, 9), lambda: open("/tests/x", "w"), lambda: open("/proc/1/environ")):
        try:
            act()
            print("could")
        except OSError:
            pass
    print("links", [name for _, name in socket.if_nameindex()])
"""
MAKES = """
import ctypes, os
LIBC = ctypes.CDLL(None, use_errno=True)
def test_makes():
    made = [
        LIBC.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o666, None), LIBC.shmget(4242, 4096, 0o1666),
        LIBC.semget(4243, 1, 0o1666), LIBC.msgget(4244, 0o1666),
    ]
    print("made", [number >= 0 for number in made])
    counts = [open(f"/proc/sysvipc/{kind}").read().count("\\n") - 1 for kind in ("shm", "sem", "msg")]
    print("seen", os.listdir("/dev/mqueue"), counts)
"""
CLOSES = "import os\ndef test_closes():\n    os.makedirs('/tmp/left/in')\n    os.chmod('/tmp/left', 0)\n"
HANGS = "import time\ndef test_hangs():\n    time.sleep(300)\n"
KILLS = "import os\ndef test_kills():\n    os.kill(os.getppid(), 9)\n"


@pytest.fixture(scope="module")
def image(runtime: DockerRuntime) -> str:
    """The image of verifiers."""
    return runtime.images.build_bases()["verifier"]


@pytest.fixture(scope="module")
def log() -> bytes:
    """The log of an episode in which little happened."""
    with InProcessRuntime().open(EpisodeSpec("run", "e", presigned(), 0)) as pod:
        pod.call(request("GET", "/task"))
        return pod.finish()


@pytest.fixture
def verifier(runtime: DockerRuntime, image: str) -> Iterator[WarmVerifier]:
    """One that stays."""
    made = WarmVerifier(runtime.engine, image, 1.0)
    yield made
    made.remove()


def presigned() -> Task:
    """A task of ours."""
    return next(task for task in SHIPPED if task.task_id == "presigned-url-download")


@pytest.fixture
def contributed(tmp_path: Path) -> Task:
    """That task in a folder that is not ours."""
    return replace(presigned(), path=Path(shutil.copytree(presigned().path, tmp_path / presigned().path.name)))


def asked(verifier: WarmVerifier, test: str, log: bytes, limit_s: int = 60) -> tuple[int, str] | None:
    """The exit code of a hidden test, with what it printed."""
    said = verifier.ask(pack({"tests/test_outcome.py": f"{test}    assert False\n".encode(), "events.jsonl": log}), limit_s)
    return said and (said[0], said[1]["verifier.log"].decode())


def test_nothing_of_a_verdict_is_there_at_the_next(verifier: WarmVerifier, log: bytes) -> None:
    """Files and processes are gone, the user is another, and none has a right, a network or a way to the first process."""
    first = asked(verifier, LEAVES, log)
    second = asked(verifier, SEES, log)

    assert first is not None
    assert second is not None
    assert "user 20000" in first[1]
    assert "user 20001 left ['20001']" in second[1]
    assert "users ['0', '20001']" in second[1]
    assert f"rights {'0' * 16} {'0' * 16} 1" in second[1]
    assert "links ['lo']" in second[1]
    assert "could" not in second[1].partition("Captured")[2]


def test_no_ipc_object_can_be_made(verifier: WarmVerifier, log: bytes) -> None:
    """POSIX queues and the three kinds of System V objects are refused, so that none is there at the next verdict."""
    first, second = asked(verifier, MAKES, log), asked(verifier, MAKES, log)

    assert first is not None
    assert second is not None
    for one in (first, second):
        assert "made [False, False, False, False]" in one[1]
        assert "seen [] [0, 0, 0]" in one[1]
    assert verifier.is_clean


@pytest.mark.parametrize("test", [MAKES, CLOSES], ids=["IPC", "a folder that cannot be removed"])
def test_a_verifier_with_anything_left_is_thrown_away(
    runtime: DockerRuntime, image: str, log: bytes, monkeypatch: pytest.MonkeyPatch, test: str
) -> None:
    """Without profiles of system calls a verdict can leave something: it counts, and nobody uses that container again."""
    monkeypatch.setattr(runtime.engine, "filters_calls", False)
    verifier = WarmVerifier(runtime.engine, image, 1.0)
    try:
        first = asked(verifier, test, log)

        assert first is not None
        assert first[0] == 1
        assert not verifier.is_clean
        assert asked(verifier, "def test_no():\n", log) is None
    finally:
        verifier.remove()


def test_tests_that_hang_end_at_their_limit(verifier: WarmVerifier, log: bytes) -> None:
    """Their code is that of a killed program, and the next log is judged."""
    hanging, after = asked(verifier, HANGS, log, limit_s=2), asked(verifier, "def test_no():\n", log)

    assert hanging is not None
    assert after is not None
    assert (hanging[0], after[0]) == (137, 1)


def test_a_killed_keeper_costs_the_container(
    runtime: DockerRuntime, image: str, verifier: WarmVerifier, log: bytes, contributed: Task
) -> None:
    """Whoever judges next has another one, and a real task's verdict is that of test.sh."""
    spec = EpisodeSpec("run", "e", presigned(), 0)

    assert asked(verifier, KILLS, log) is None
    assert asked(verifier, SEES, log) is None
    warm = WarmVerifiers(runtime.engine, image, 1.0)
    _, left = warm.judge(spec, log, lambda: None)
    apart = runtime.judge(replace(spec, task=contributed), log)
    assert left["verdict.json"] == apart.verdict
    assert json.loads(left["reward.json"]) == json.loads(apart.reward) == {"reward": 0.0}


def test_only_tests_of_ours_share_a_verifier(contributed: Task) -> None:
    """A contributed folder has a verifier of its own, also when its files are the template's."""
    assert may_stay(presigned())
    assert not may_stay(contributed)


def test_it_ends_with_its_connection(runtime: DockerRuntime, image: str) -> None:
    """Docker removes a verifier whose harness has gone without a word."""
    made = WarmVerifier(runtime.engine, image, 1.0)
    mark = f"{OWNER_LABEL}={this_owner()}"
    assert made.container in {one["Id"] for one in runtime.engine.labelled(mark)["containers"]}
    made.hang_up()
    until = time.monotonic() + 60
    while made.container in {one["Id"] for one in runtime.engine.labelled(mark)["containers"]}:
        assert time.monotonic() < until
        time.sleep(0.1)
