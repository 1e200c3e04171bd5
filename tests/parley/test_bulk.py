"""Chunks in processes leave exactly what threads leave, an interrupt ends them, and one that dies takes nothing with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from harness.agent import AgentSpec, Budget, Report
from harness.agent_factory import Make, make_agent
from harness.agents.scripted import NopAgent, ScriptedAgent
from harness.agents.seats.agent import SeatAgent
from harness.agents.solutions import SolutionAgent
from harness.errors import Cancelled
from harness.live_agent import Agent
from harness.paths import ROOT
from harness.pod import EpisodeSpec, Judgement, Pod
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.executors.base import LEAST, Finished, Order
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley import bulk as processes
from parley.bulk import BulkSite, Processes, chunk_size, serves
from parley.workers import Worker
from tests.shipped import SHIPPED

TASKS = [task for task in SHIPPED if task.task_id in {"uniform-01", "presigned-url-download", "saga-rollback"}]


class Threads(InProcessRuntime):
    """A runtime that says that it needs this process."""

    plays_in_process = False


def played(folder: Path, agent: AgentSpec, runtime: InProcessRuntime, tasks: list[Task], seeds: int) -> list[Result]:
    """Every task on so many seeds."""
    plan = Plan("run", tasks, list(range(seeds)), 1, agent)
    return run_plan(plan, runtime, RunFolder(folder), workers=2, images={}, progress=lambda event: None, site=BulkSite())


def told(results: list[Result]) -> list[object]:
    """What must be equal: all but wall time and place."""
    kept = [result.model_dump(exclude={"timings", "path"}) for result in results]
    # wall time stands in the first two, and the order of sets, which is each process's own, in the third
    timed = {"result.json", "trajectory.json", "verifier.log"}
    files = [{p.name: p.read_bytes() for p in sorted(Path(r.path).iterdir()) if p.name not in timed} for r in results]
    return [*kept, *files]


@pytest.mark.parametrize("agent", [AgentSpec(), AgentSpec(kind="nop")], ids=lambda agent: agent.title)
@pytest.mark.property
def test_processes_and_threads_agree(tmp_path: Path, agent: AgentSpec) -> None:
    """Results, verdicts and event logs are the same, in the same order."""
    seeds = LEAST // len(TASKS) + 1

    assert serves(InProcessRuntime(), make_agent(agent, {}), seeds * len(TASKS))
    assert told(played(tmp_path / "a", agent, InProcessRuntime(), TASKS, seeds)) == told(
        played(tmp_path / "b", agent, Threads(), TASKS, seeds)
    )


def test_what_processes_serve() -> None:
    """Scripted players in process, and enough of them; never a runtime or an agent that holds anything of its own."""
    recorded = SolutionAgent(transport=lambda inner: inner)

    assert serves(InProcessRuntime(), SeatAgent(AgentSpec(kind="seats", name="imap")), LEAST)
    assert not serves(InProcessRuntime(), SeatAgent(AgentSpec(kind="seats", name="imap")), LEAST - 1)
    assert not serves(Threads(), SeatAgent(AgentSpec(kind="seats", name="imap")), LEAST)
    assert not serves(InProcessRuntime(), recorded, LEAST)
    assert not serves(InProcessRuntime(), ScriptedAgent([]), LEAST)


# ten chunks: when the first is done, most are not
MANY = [
    sys.executable, "-m", "harness", "run", "uniform-*", "varied-[0-9]*", "--seeds", "0-2", "--agent", "imap",
    "--runtime", "inprocess",
]  # fmt: skip


def interrupted(folder: Path, how: signal.Signals) -> tuple[int, str]:
    """Such a run, ended after its first chunk; its exit code and the rest of what it said."""
    started = subprocess.Popen(
        ["env", "--default-signal=INT", *MANY, "--out", str(folder)], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    while "/270]" not in started.stderr.readline():
        assert started.poll() is None, "the run ended before it could be interrupted"
    started.send_signal(how)
    _, stderr = started.communicate(timeout=30)
    return started.returncode, stderr


def resumed(folder: Path) -> int:
    """How many episodes such a run has once it was resumed."""
    done = subprocess.run([*MANY, "--resume", str(folder), "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    return int(json.loads(done.stdout)["summary"]["episodes"])


@pytest.mark.property
def test_killed_run_can_be_resumed_at_once(tmp_path: Path) -> None:
    """Its lock is gone with it, and what its processes were doing is in nobody's way."""
    code, _ = interrupted(tmp_path / "run", signal.SIGKILL)

    assert code == -signal.SIGKILL
    assert resumed(tmp_path / "run") == 270


@pytest.mark.property
def test_interrupt_ends_the_processes(tmp_path: Path) -> None:
    """Ctrl-C in the middle: exit 130 within seconds, no process left, and --resume plays the rest."""
    began = time.monotonic()
    code, stderr = interrupted(tmp_path / "run", signal.SIGINT)

    assert code == 130
    assert time.monotonic() - began < 25
    assert 0 < len(list((tmp_path / "run").rglob("result.json"))) < 270
    assert resumed(tmp_path / "run") == 270
    assert "Traceback" not in stderr


def test_failing_judge_is_attributed(tmp_path: Path) -> None:
    """A runtime whose judge is replaced is asked, not passed over."""

    class Refusing(InProcessRuntime):
        plays_in_process = False

        def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
            return Judgement(b"{}", b"")

    results = played(tmp_path / "run", AgentSpec(kind="nop"), Refusing(), TASKS[:1], LEAST)

    assert {result.cause for result in results} == {"verifier"}


class Dying(NopAgent):
    """Ends its process without a word, as a lack of memory does, as long as `lives` lasts."""

    def __init__(self, lives: Path, deaths: int) -> None:
        super().__init__()
        self.lives, self.deaths = lives, deaths

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Die, or do nothing."""
        if len(list(self.lives.iterdir())) < self.deaths:
            (self.lives / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)


def dying(lives: Path, deaths: int, *_: object) -> Agent:
    """What makes it, also in another process."""
    return Dying(lives, deaths)


def chunk() -> list[Order]:
    """Two episodes."""
    task = TASKS[0]
    keys = [Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1) for seed in (0, 1)]
    return [Order(EpisodeSpec("run", str(key.seed), task, key.seed), key, AgentSpec(kind="nop")) for key in keys]


def crew_of(folder: Path, make: Make = make_agent) -> Processes:
    """What plays the chunks of a run in this folder."""
    return Processes(RunFolder(folder), make)


@pytest.mark.property
@pytest.mark.parametrize(
    ("deaths", "told"),
    [
        (1, ("graded", None, None)),
        (2, ("ungraded", "runtime", "a worker process ended with -9")),
    ],
)
def test_process_that_dies_costs_its_chunk_at_most(
    tmp_path: Path, deaths: int, told: tuple[str, str | None, str | None]
) -> None:
    """The chunk is tried once more in a new process; if that dies too, its episodes are recorded as what they are."""
    (lives := tmp_path / "lives").mkdir()
    results = crew_of(tmp_path / "run", partial(dying, lives, deaths)).play(chunk())

    assert [(result.status, result.cause, result.error) for result in results] == [told, told]
    assert [result.seed for result in results] == [0, 1]
    assert len(list(lives.iterdir())) == deaths
    assert list(RunFolder(tmp_path / "run").results()) == results


@pytest.mark.property
def test_process_that_dies_loses_nothing_that_it_had_done(tmp_path: Path) -> None:
    """What stands in the run's folder is no more played when its chunk is tried again."""
    first, second = chunk()
    folder = RunFolder(tmp_path / "run")
    (before,) = crew_of(folder.path).play([first])
    (lives := tmp_path / "lives").mkdir()
    again = crew_of(folder.path, partial(dying, lives, 1)).play([first, second])

    assert again[0] == before
    assert [result.status for result in again] == ["graded", "graded"]
    assert list(folder.results()) == again


@pytest.mark.property
def test_idle_process_that_died_is_passed_over(tmp_path: Path) -> None:
    """What waits for work may have died meanwhile; a living one is taken."""
    dead = Worker()
    dead.kill()
    processes._idle.append(dead)
    results = crew_of(tmp_path).play(chunk())

    assert [result.status for result in results] == ["graded", "graded"]
    assert dead not in processes._idle


def test_nothing_starts_after_a_kill(tmp_path: Path) -> None:
    """A chunk that comes late is cancelled, not lost."""
    crew = crew_of(tmp_path)
    crew.kill()

    with pytest.raises(Cancelled):
        crew.play(chunk())


@pytest.mark.property
@pytest.mark.parametrize("workers", [1, 2])
def test_processes_are_no_more_than_asked_for(tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker is one process, also where there are more processors."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(processes, "_idle", [])
    task, started = TASKS[0], threading.active_count()
    keys = [Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1) for seed in range(LEAST)]
    orders = [Order(EpisodeSpec("run", str(key.seed), task, key.seed), key, AgentSpec(kind="nop")) for key in keys]
    with Processes(RunFolder(tmp_path), make_agent).playing(orders, workers) as news:
        assert threading.active_count() - started <= workers
        assert len([event for event in news if isinstance(event, Finished)]) == LEAST
    assert len(processes._idle) <= workers


@pytest.mark.parametrize(
    ("episodes", "players", "size"), [(90, 2, 23), (60, 2, 30), (30, 2, 15), (31, 1, 16), (1000, 8, 25), (45, 3, 15)]
)
def test_chunks_are_even(episodes: int, players: int, size: int) -> None:
    """Each player gets the same number of chunks, none of them longer than allowed."""
    assert chunk_size(episodes, players) == size


def test_orphans_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process has played when its harness is gone may be in another run's hands: its folder stays as it was."""
    folder, (first, second) = RunFolder(tmp_path), chunk()
    asked = iter([False, True])
    monkeypatch.setattr(processes, "orphaned", lambda: next(asked))

    with pytest.raises(Cancelled, match="the harness has died"):
        processes.recorded([first, second], make_agent, folder, verbose=False)

    assert folder.finished(first.key) is not None
    assert folder.finished(second.key) is None
