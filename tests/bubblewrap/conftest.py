"""What the bubblewrap suite shares: one runtime with its environments built, and a small task of its own.

The task's verifier is a shell script, so these tests say something about the runtime only, not about any family.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.registry import Task, read_task
from harness.runtimes.base import EpisodeSpec
from harness.runtimes.bubblewrap.folders import folders_root
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime

Specs = Callable[..., EpisodeSpec]

TASK = """
schema_version = "1.4"
[task]
name = "parley/echo"
[metadata.parley]
family = "contract"
difficulty = "easy"
budgets = { steps = 50, virtual_seconds = 5000 }
options = { greeting = { default = "hello", values = ["hello", "bye"], doc = "what GET /hello says" } }
[environment]
memory_mb = 512
[verifier]
timeout_sec = 10
"""

SERVER = """
import os, signal
from worlds.core.calls import Reply, Violation, get
from worlds.core.world import World


class Echo(World):
    def prepare(self):
        self.token = self.chance("token").hex(12)

    def facts(self):
        return {"token": self.token}

    @get("/hello")
    def hello(self, call):
        return {"says": self.options["greeting"], "token": self.token}

    @get("/die")
    def die(self, call):
        print("last words", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def judge_submission(self, call):
        if call.body.decode() != self.token:
            raise Violation("WRONG_VALUE", "the token is not the one given")
        return Reply({"done": True}, kind="goal")
"""

TEST_SH = """
cd /logs/verifier
reward=0.0
grep -q '"kind":"goal"' /state/events.jsonl && reward=1.0
echo "{\\"reward\\": $reward}" | tee reward.json
(ls /; tail -n +3 /proc/net/dev | cut -d: -f1; touch /state/x /tests/x) > verdict.json 2> /dev/null
exit 0
"""


def sandboxed() -> set[int]:
    """Every process of this host that lives in a room of ours: a folder of an episode is mounted in it."""
    mark, found = f"{folders_root()}/pod-", set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            mounts = (folder / "mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
            if any(line.split()[3].startswith(mark) for line in mounts):
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def in_time(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether a condition comes true in time."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def write_task(parent: Path, **changed: str) -> Task:
    """The small task, with other contents for some of its files."""
    files = {
        "task.toml": TASK,
        "instruction.md": "seed 0",
        "environment/Dockerfile": "# main\nFROM parley/agent:1\n",
        "environment/api/Dockerfile": "FROM parley/world:1\nCOPY . /srv/world/\n",
        "environment/api/server.py": SERVER,
        "environment/api/instruction.md.j2": "Submit {{ token }}.\n",
        "tests/Dockerfile": "FROM parley/verifier:1\nRUN mkdir -p /state /workspace\nCOPY . /tests/\n",
        "tests/test.sh": TEST_SH,
    }
    for name, text in {**files, **changed}.items():
        path = parent / "echo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = read_task(parent / "echo")
    if (manifest := made.file.manifest()) is not None:
        (made.world_folder / "world.json").write_text(manifest.to_json(), encoding="utf-8")
    return made


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Episodes of these tests have their folders apart from those of other runs on this host."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("folders"))
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        yield


@pytest.fixture(scope="session")
def runtime() -> BubblewrapRuntime:
    """The runtime, its environments built."""
    made = BubblewrapRuntime()
    probe = made.probe()
    assert probe.ok, probe.why
    made.prepare([])
    return made


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A task whose goal is to submit the token that GET /hello gives."""
    return write_task(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="session")
def written() -> Callable[..., Task]:
    """Writes the small task with other contents for some of its files."""
    return write_task


@pytest.fixture(scope="session")
def processes() -> Callable[[], set[int]]:
    """Asks for every process of this host that lives in a room of these tests."""
    return sandboxed


@pytest.fixture(scope="session")
def eventually() -> Callable[..., bool]:
    """Asks whether a condition comes true in time."""
    return in_time


@pytest.fixture
def spec(task: Task) -> Iterator[Specs]:
    """Makes specs of one run; after the test no folder and no process of this test is left."""
    before, folders = sandboxed(), set(folders_root().iterdir())
    run = f"test-{secrets.token_hex(4)}"
    yield lambda episode="e1", **given: EpisodeSpec(run, episode, given.pop("task", task), given.pop("seed", 0), **given)

    assert in_time(lambda: sandboxed() <= before, 1)
    assert set(folders_root().iterdir()) <= folders
