"""What the hostile suites share: both sandboxed runtimes, a copy of one task, an agent that attacks, and a look behind.

Every run of this session carries its mark in its name and has its folders in a place of its own, so that what is left can be
told from what other people run on this host. After each test nothing of ours may be left: no container, volume or network
with a label of this session, no folder of an episode, no process that holds or sees one.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agents.scripted import NopAgent
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.live_agent import Agent
from harness.orphans import RUN_LABEL
from harness.outcome import Outcome
from harness.pod import CommandResult, EpisodeSpec, Pod, Runtime
from harness.records import Key
from harness.registry import Task, read_task
from harness.runtimes.bubblewrap.folders import folders_root
from harness.runtimes.bubblewrap.runtime import BubblewrapRuntime
from harness.runtimes.docker.engine.client import Engine
from harness.runtimes.docker.runtime import DockerRuntime
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from worlds.core.events import read_log

MARK = f"hostile-{secrets.token_hex(3)}"
"""How every run of this session is called, up to its own number."""

RUNTIMES: dict[str, type[Runtime]] = {"docker": DockerRuntime, "bubblewrap": BubblewrapRuntime}
PARAMS = [pytest.param("docker", marks=pytest.mark.docker), pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)]
LEAVE_S = 5.0
"""How long what was killed may take to be gone from the process table."""


@dataclass
class Attacker(Agent):
    """Runs bash scripts in `main`, one after the other, then perhaps plays the oracle; keeps what each script did."""

    scripts: Sequence[str]
    then: Callable[[Pod], object] | None = None
    oracle: bool = False
    limit_s: float = 30.0
    virtual_time: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    name: str = "attacker"
    only_computes: bool = False
    done: list[CommandResult] = field(default_factory=list)

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Always."""
        return True

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Attack."""
        if self.files:
            pod.put({path: text.encode() for path, text in self.files.items()})
        for script in self.scripts:
            self.done.append(pod.run(["bash", "-c", script], timeout_s=self.limit_s, virtual_time=self.virtual_time))
        if self.then is not None:
            self.then(pod)
        if self.oracle:
            SolutionAgent().play(task, seed, pod, budget, report)

    @property
    def output(self) -> list[str]:
        """What each script printed."""
        return [done.output.decode("utf-8", "replace") for done in self.done]


@dataclass(frozen=True)
class Traces:
    """What a session's runs have on this host right now."""

    engine: Engine | None

    def labelled(self, mark: str = MARK) -> list[str]:
        """Containers, volumes and networks of runs whose name begins with `mark`."""
        if self.engine is None:
            return []
        found = self.engine.labelled(RUN_LABEL)
        mine = [x for things in found.values() for x in things if (x.get("Labels") or {}).get(RUN_LABEL, "").startswith(mark)]
        return [str(thing.get("Name") or thing["Names"][0]).lstrip("/") for thing in mine]

    def folders(self) -> list[str]:
        """Folders of episodes."""
        return sorted(path.name for path in folders_root().iterdir())

    def processes(self) -> dict[int, str]:
        """Processes with a folder of an episode among their mounts or open files, and their command lines."""
        mark, found = f"{folders_root()}/", {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                seen = (entry / "mountinfo").read_text(encoding="utf-8", errors="replace")
                files = [str(link.readlink()) for link in (entry / "fd").iterdir()]
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if int(entry.name) != os.getpid() and (f" {mark}" in seen or any(file.startswith(mark) for file in files)):
                found[int(entry.name)] = command
        return found

    def left(self) -> dict[str, Any]:
        """All of these that are still there after what was killed had its time to go."""
        until = time.monotonic() + LEAVE_S
        while True:
            now = {"labelled": self.labelled(), "folders": self.folders(), "processes": self.processes()}
            if not any(now.values()) or time.monotonic() > until:
                return {name: things for name, things in now.items() if things}
            time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Episodes of this session, and of the processes it starts, have their folders apart from everybody else's."""
    tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        folder = tempfile.mkdtemp(prefix=f"{MARK}-")
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        yield
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=PARAMS)
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """A runtime that works, with what it needs built."""
    made = RUNTIMES[request.param]()
    probe = made.probe()
    assert probe.ok, probe.why
    yield made
    if isinstance(made, DockerRuntime):
        made.engine.api.close()


@pytest.fixture(scope="module")
def traces(runtime: Runtime) -> Traces:
    """What runs of this session have on this host."""
    return Traces(runtime.engine if isinstance(runtime, DockerRuntime) else None)


@pytest.fixture(autouse=True)
def _nothing_left(traces: Traces) -> Iterator[None]:
    """After each test nothing of ours is left, and what was there before it is unharmed."""
    yield
    assert traces.left() == {}


@pytest.fixture(scope="session")
def tasks_root(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A folder of tasks with a copy of one real task."""
    made = tmp_path_factory.mktemp("tasks")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "tasks/contract/presigned-url-download", made / "contract/presigned-url-download", ignore=ignored)
    return made


@pytest.fixture(scope="module")
def task(tasks_root: Path, runtime: Runtime) -> Task:
    """The copy, ready to run."""
    made = admitted(read_task(tasks_root / "contract/presigned-url-download"))
    runtime.prepare([made])
    return made


@pytest.fixture(scope="module", autouse=True)
def sentinel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file and a process of this host, which nothing in this module may touch."""
    path = tmp_path_factory.mktemp("sentinel") / "file"
    path.write_text("untouched", encoding="utf-8")
    path.chmod(0o666)
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield path
        alive = process.poll() is None
        process.kill()
    assert alive
    assert path.read_text(encoding="utf-8") == "untouched"
    assert [other.name for other in path.parent.iterdir()] == ["file"]


@pytest.fixture(scope="module")
def untouched(task: Task) -> tuple[str, str]:
    """The trace hash of an episode in which nothing was asked, and of the oracle's."""
    hashes = []
    for agent in (NopAgent(), SolutionAgent()):
        with InProcessRuntime().open(EpisodeSpec("untouched", "e", task, 0)) as pod:
            agent.play(task, 0, pod, Budget(), Report("x"))
            hashes.append(read_log(pod.finish())[-1].hash)
    return hashes[0], hashes[1]


@pytest.fixture
def run_id() -> str:
    """A name for a run of this session."""
    return f"{MARK}-{secrets.token_hex(3)}"


@pytest.fixture(scope="session")
def attacker() -> type[Attacker]:
    """The agent that attacks."""
    return Attacker


@pytest.fixture
def episode(runtime: Runtime, task: Task, run_id: str) -> Callable[..., Outcome]:
    """Plays one whole episode with an agent: opened, played, finished, judged."""

    def play(agent: Any, *, seed: int = 0, episode_id: str = "e1", played: Task = task) -> Outcome:
        spec = EpisodeSpec(run_id, episode_id, played, seed, needs_main=agent.needs_main(played, runtime.name))
        key = Key(task_id=played.task_id, family=played.family, seed=seed, attempt=1)
        return run_episode(spec, key, runtime, agent, Budget(wall_s=120))

    return play


@pytest.fixture
def open_pod(runtime: Runtime, task: Task, run_id: str) -> Callable[..., Any]:
    """Opens a pod with `main`, for what one wants to look at from outside."""
    return lambda seed=0, episode_id="e1": runtime.open(EpisodeSpec(run_id, episode_id, task, seed, needs_main=True))


@pytest.fixture(scope="session")
def log_of() -> Callable[[Outcome], list[dict[str, Any]]]:
    """The events of an episode as plain objects."""
    return lambda outcome: [json.loads(line) for line in outcome.files["events.jsonl"].splitlines()]
