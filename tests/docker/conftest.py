"""What the Docker suite shares: one runtime with its base images built, and a small task of its own.

The task's verifier is a shell script, so these tests say something about the runtime only, not about any family.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.pod import EpisodeSpec
from harness.registry import Task, read_task
from harness.runtimes.docker.runtime import DockerRuntime

_REGISTRY_WAIT_S = 30

TASK = """
schema_version = "1.4"
artifacts = [{ source = "/state/events.jsonl", service = "api" }]
[task]
name = "parley/echo"
[metadata.parley]
family = "contract"
difficulty = "easy"
budgets = { steps = 50, virtual_seconds = 5000 }
options = { greeting = { default = "hello", values = ["hello", "bye"], doc = "what GET /hello says" } }
[agent]
user = "agent"
[environment]
memory_mb = 512
[verifier]
timeout_sec = 10
environment_mode = "separate"
"""

SERVER = """
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
id -un > verdict.json
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files by relative path."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def runtime() -> Iterator[DockerRuntime]:
    """The Docker runtime, base images built."""
    made = DockerRuntime()
    made.images.build_bases()
    yield made
    for task_id in ("echo", "echo-clean", "counter"):
        made.images.clean_images(task_id)
    made.engine.api.close()


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory, runtime: DockerRuntime) -> Task:
    """A task whose goal is to submit the token that GET /hello gives."""
    folder = write(
        tmp_path_factory.mktemp("tasks") / "echo",
        {
            "task.toml": TASK,
            "instruction.md": "seed 0",
            "environment/Dockerfile": "# main\nFROM parley/agent:1\n",
            "environment/api/Dockerfile": "FROM parley/world:1\nCOPY . /srv/world/\n",
            "environment/api/server.py": SERVER,
            "environment/api/instruction.md.j2": "Submit {{ token }}.\n",
            "tests/Dockerfile": "FROM parley/verifier:1\nCOPY . /tests/\n",
            "tests/test.sh": TEST_SH,
        },
    )
    manifest = read_task(folder).file.manifest()
    assert manifest is not None
    write(folder, {"environment/api/world.json": manifest.to_json()})
    made = read_task(folder)
    runtime.prepare([made])
    return made


@pytest.fixture
def spec(runtime: DockerRuntime, task: Task) -> Iterator[Callable[..., EpisodeSpec]]:
    """Makes specs of one run, named for this test alone; after the test nothing of the run is left in Docker."""
    run = f"test-{secrets.token_hex(4)}"
    yield lambda episode="e1", **given: EpisodeSpec(run, episode, given.pop("task", task), given.pop("seed", 0), **given)
    left = runtime.engine.labelled(f"parley.run={run}")

    assert left == {"containers": [], "volumes": [], "networks": []}


@pytest.fixture(scope="session")
def image_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry with nothing in it; its address."""
    program = shutil.which("docker-registry")
    assert program, "apt-get install docker-registry, as .ci/run does"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    folder = tmp_path_factory.mktemp("registry")
    (folder / "config.yml").write_text(
        f"version: 0.1\nlog: {{ level: error }}\nstorage: {{ filesystem: {{ rootdirectory: {folder}/data }} }}\n"
        f"http: {{ addr: '{address}' }}\n"
    )
    with (folder / "log").open("wb") as log:
        serving = subprocess.Popen([program, "serve", str(folder / "config.yml")], stdout=log, stderr=log)
    try:
        _wait_for(address)
        yield address
    finally:
        serving.kill()
        serving.wait()


def _wait_for(address: str) -> None:
    host, _, port = address.partition(":")
    end = time.monotonic() + _REGISTRY_WAIT_S
    while True:
        try:
            socket.create_connection((host, int(port)), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
