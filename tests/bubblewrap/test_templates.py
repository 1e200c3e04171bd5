"""What is forked from a template: as confined as what was started anew, with the same verdicts, and gone with its template."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RuntimeFailure
from harness.pod import EpisodeSpec
from harness.registry import Task, read_task
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.bubblewrap.templates import template
from harness.runtimes.inprocess import InProcessRuntime
from harness.runtimes.recipes import has_plain_verifier, runs_plain_tests
from worlds.core.wire import request

pytestmark = pytest.mark.bubblewrap

Specs = Callable[..., EpisodeSpec]
Processes = Callable[[], set[int]]
NAMESPACES = ("mnt", "pid", "ipc", "uts", "net", "cgroup")

LOOK = """
import json, os, socket
said = dict(line.split(":", 1) for line in open("/proc/self/status"))
left = {name: said[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")}
left |= {"uid": os.getuid(), "host": os.listdir("/host"), "own": socket.gethostname()}
try:
    import harness
except ImportError:
    left["harness"] = False
"""

SERVER = f"""
{LOOK}
from worlds.core.calls import get
from worlds.core.world import World

class Looks(World):
    def prepare(self):
        pass

    def facts(self):
        return {{"token": "none"}}

    @get("/left")
    def left(self, call):
        return left
"""

TESTS = f"""
{LOOK}

def test_looks(episode):
    print(json.dumps(left))
    assert not left
"""


def status(pid: int) -> dict[str, str]:
    """What /proc says of a process, by name."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def check(left: dict[str, object], hostname: str) -> None:
    """Hold what a program in a room saw of itself to what it may be."""
    assert {left[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (left["NoNewPrivs"], left["Seccomp"], left["host"], left["harness"]) == ("1", "2", [], False)
    assert left["own"] == hostname
    assert left["uid"] != 0


@pytest.fixture
def looking(written: Callable[..., Task], presigned: Task, tmp_path: Path) -> Task:
    """A task whose world and whose hidden tests say what they are, the tests started as `harness sync` has it."""
    folder = written(tmp_path, **{"environment/api/server.py": SERVER, "tests/test_outcome.py": TESTS}).path
    for name in ("test.sh", "Dockerfile"):
        shutil.copy(presigned.path / "tests" / name, folder / "tests" / name)
    return read_task(folder)


def test_forked_programs_keep_no_right(runtime: BubblewrapRuntime, spec: Specs, looking: Task) -> None:
    """A world and hidden tests have no capability, no other user's id, nothing of their template's host, no code of PID 1."""
    made = spec(task=looking)
    with runtime.open(made) as pod:
        world = json.loads(pod.call(request("GET", "/left")).body)
        log = pod.finish()
    judged = runtime.judge(made, log)
    said = next(line for line in judged.log.decode().splitlines() if line.startswith("{"))

    assert runs_plain_tests(looking)
    check(world, "api")
    check(json.loads(said), "verifier")
    assert world["uid"] != json.loads(said)["uid"] or os.geteuid() != 0


SPOILS = """
import ctypes, json, os, signal, socket, stat
from worlds.core import wire
from worlds.core.calls import get
from worlds.core.world import World

LIBC = ctypes.CDLL(None, use_errno=True)

def attempts():
    for pid in (1, os.getppid()):
        for name in ("fd", "root", "cwd"):
            yield f"{pid}/{name}", lambda path=f"/proc/{pid}/{name}": os.listdir(path)
        for name in ("mem", "environ", "maps"):
            yield f"{pid}/{name}", lambda path=f"/proc/{pid}/{name}": 1 / len(open(path, "rb").read(1))
        yield f"{pid} traced", lambda pid=pid: 1 / (LIBC.ptrace(16, pid, None, None) == 0)
    yield "mounted", lambda: 1 / (LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
    yield "host", lambda: os.listdir("/host")[0]
    yield "control", lambda: socket.socket(fileno=os.dup(3)).send(b"x")

def could():
    done = []
    for name, attempt in attempts():
        try:
            attempt()
            done.append(name)
        except Exception:
            pass
    return done

class Spoils(World):
    def prepare(self):
        self.before = {"marked": hasattr(wire, "marked"), "environ": "MARKED" in os.environ, "files": os.listdir("/tmp"),
            "queue": LIBC.mq_open(b"/left", os.O_RDONLY) >= 0, "segment": LIBC.shmget(4242, 4096, 0) >= 0,
            "pids": len([name for name in os.listdir("/proc") if name.isdecimal()]) > 3}
        wire.marked, os.environ["MARKED"] = True, "1"
        open("/tmp/left", "w").close()
        made = LIBC.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o666, None), LIBC.shmget(4242, 4096, 0o1666)
        self.before["made"] = min(made) >= 0
        self.before["could"] = could()

    def facts(self):
        return {"token": "none"}

    @get("/left")
    def left(self, call):
        return self.before
"""


def test_a_world_reaches_no_template_and_spoils_no_other_world(
    runtime: BubblewrapRuntime, spec: Specs, written: Callable[..., Task], tmp_path: Path
) -> None:
    """A hostile world changes modules, leaves IPC objects and files, tries its PID 1: those beside and after it see nothing."""
    task = written(tmp_path, **{"environment/api/server.py": SPOILS})
    said = []
    with runtime.open(spec("e1", task=task)) as one, runtime.open(spec("e2", task=task)) as two:
        said += [json.loads(pod.call(request("GET", "/left")).body) for pod in (one, two)]
    with runtime.open(spec("e3", task=task)) as after:
        said.append(json.loads(after.call(request("GET", "/left")).body))
    untouched = dict.fromkeys(("marked", "environ", "queue", "segment", "pids"), False)

    for left in said:
        assert [name for name in left["files"] if name == "left"] == []
        assert {**left, "files": []} == {**untouched, "made": True, "could": [], "files": []}


def test_forked_rooms_share_no_namespace_with_each_other(runtime: BubblewrapRuntime, spec: Specs, processes: Processes) -> None:
    """Two pods of one template have no namespace in common, but that of a network within each."""
    known = processes()
    seen: list[dict[str, set[str]]] = []
    with ExitStack() as stack:
        for episode in ("e1", "e2"):
            stack.enter_context(runtime.open(spec(episode)))
            own, known = processes() - known, processes()
            links = {kind: {str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for pid in own} for kind in NAMESPACES}
            seen.append(links)
            assert own
            assert len(links["net"]) == 1

    origin = template(runtime.environments, "world").control.process()
    assert [kind for kind in NAMESPACES if seen[0][kind] & seen[1][kind]] == []
    assert [kind for kind in NAMESPACES if str(Path(f"/proc/{origin}/ns/{kind}").readlink()) in seen[0][kind]] == []


def test_verdict_is_that_of_the_script(runtime: BubblewrapRuntime, spec: Specs, presigned: Task, tmp_path: Path) -> None:
    """The tests of a task leave the same bytes whether a copy of the template runs them or test.sh starts Python anew."""
    made = spec(task=presigned)
    with InProcessRuntime().open(made) as pod:
        pod.call(request("GET", "/task"))
        log = pod.finish()
    folder = Path(shutil.copytree(presigned.path, tmp_path / presigned.path.name))
    (folder / "tests" / "test.sh").write_text((folder / "tests" / "test.sh").read_text() + "exit 0\n")
    anew = spec(task=read_task(folder))

    warm, cold = runtime.judge(made, log), runtime.judge(anew, log)

    assert (has_plain_verifier(presigned), runs_plain_tests(anew.task)) == (True, False)
    assert (warm.reward, warm.verdict) == (cold.reward, cold.verdict)
    assert json.loads(warm.verdict)["failure_label"] != "SUCCESS"


LEAVES = """
import ctypes, json, os, subprocess
LIBC = ctypes.CDLL(None, use_errno=True)

def test_leaves(episode):
    kinds = ("shm", "sem", "msg")
    print(json.dumps({
        "objects": [len(open(f"/proc/sysvipc/{kind}").readlines()) - 1 for kind in kinds],
        "files": [name for place in ("/tmp", "/dev/shm", "/workspace") for name in os.listdir(place)],
        "programs": sum(b"299" in open(f"/proc/{pid}/cmdline", "rb").read() for pid in os.listdir("/proc") if pid.isdecimal()),
        "queue": LIBC.mq_open(b"/left", os.O_RDONLY),
    }))
    made = [
        LIBC.shmget(4242, 4096, 0o1666), LIBC.semget(4243, 1, 0o1666), LIBC.msgget(4244, 0o1666),
        LIBC.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o666, None),
    ]
    print("made", all(number >= 0 for number in made))
    for place in ("/tmp", "/dev/shm", "/workspace"):
        open(place + "/left", "w").close()
    subprocess.Popen(["/usr/bin/sleep", "299"], start_new_session=True)
    assert False
"""


def test_a_verdict_leaves_nothing_to_the_next(
    runtime: BubblewrapRuntime, spec: Specs, written: Callable[..., Task], presigned: Task, tmp_path: Path
) -> None:
    """IPC objects of four kinds, files and processes are made by each of three verdicts of one template, and seen by none."""
    folder = written(tmp_path, **{"tests/test_outcome.py": LEAVES}).path
    for name in ("test.sh", "Dockerfile"):
        shutil.copy(presigned.path / "tests" / name, folder / "tests" / name)
    made = spec(task=read_task(folder))
    with runtime.open(made) as pod:
        log = pod.finish()
    for _ in range(3):
        said = runtime.judge(made, log).log.decode().splitlines()
        seen = json.loads(next(line for line in said if line.startswith("{")))

        assert "made True" in said
        assert seen == {"objects": [0, 0, 0], "files": [], "programs": 0, "queue": -1}


WRITES_LATER = """
echo '{"reward": 1.0}' > /logs/verifier/reward.json
echo '{}' > /logs/verifier/verdict.json
(trap '' HUP; while kill -0 $$; do :; done; while :; do echo torn > /logs/verifier/reward.json; done) > /dev/null 2>&1 &
exec /usr/bin/sleep 0.2
"""


def test_what_tests_left_ends_before_the_reward_is_read(
    runtime: BubblewrapRuntime, spec: Specs, written: Callable[..., Task], tmp_path: Path
) -> None:
    """A process that waits for the end of its hidden tests does not live to write another reward."""
    made = spec(task=written(tmp_path, **{"tests/test.sh": WRITES_LATER}))
    with runtime.open(made) as pod:
        log = pod.finish()

    assert {runtime.judge(made, log).reward for _ in range(5)} == {b'{"reward": 1.0}\n'}


def test_an_environment_of_its_own_is_the_scripts(presigned: Task) -> None:
    """What a task says of its verifier's environment may change how bash or Python start, so both are started."""
    verifier = presigned.file.verifier.model_copy(update={"env": {"BASH_ENV": "/tests/before.sh"}})
    changed = replace(presigned, file=presigned.file.model_copy(update={"verifier": verifier}))

    assert runs_plain_tests(presigned)
    assert not runs_plain_tests(changed)
    assert not has_plain_verifier(changed)


@pytest.fixture
def lost(runtime: BubblewrapRuntime) -> int:
    """The template of worlds, by the number of its process, which this test may kill."""
    process = template(runtime.environments, "world").control.process()
    assert process is not None
    return process


def test_a_dead_template_takes_its_pods_along_and_is_replaced(
    runtime: BubblewrapRuntime, spec: Specs, lost: int, processes: Processes, eventually: Callable[..., bool]
) -> None:
    """A pod whose template was killed is the runtime's failure, leaves nothing, and the next pod has a new one."""
    before = processes()
    with runtime.open(spec()) as pod:
        os.kill(lost, signal.SIGKILL)
        assert eventually(lambda: processes() <= before)
        with pytest.raises(RuntimeFailure, match="sandbox"):
            pod.call(request("GET", "/hello"))

    with runtime.open(spec("e2")) as pod:
        assert pod.call(request("GET", "/hello")).status == 200
    assert template(runtime.environments, "world").control.process() != lost
