"""Chunks in processes leave exactly what threads leave, and an interrupt ends them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.agents.base import Agent
from harness.agents.scripted import NopAgent, ScriptedAgent
from harness.agents.seats import SeatAgent
from harness.agents.solutions import SolutionAgent
from harness.bulk import LEAST, serves
from harness.plan import Plan
from harness.records import Result, RunFolder
from harness.registry import Task, discover
from harness.run import run_plan
from harness.runtimes.base import EpisodeSpec, Judgement
from harness.runtimes.inprocess import InProcessRuntime

ROOT = Path(__file__).parents[2]
TASKS = [task for task in discover(ROOT / "tasks") if task.task_id in {"uniform-01", "presigned-url-download", "saga-rollback"}]


class Threads(InProcessRuntime):
    """The same runtime by another class, which processes do not serve."""


def played(folder: Path, agent: Agent, runtime: InProcessRuntime, tasks: list[Task], seeds: int) -> list[Result]:
    """Every task on so many seeds."""
    plan = Plan("run", tasks, list(range(seeds)), 1, agent)
    return run_plan(plan, runtime, RunFolder(folder), workers=2, images={}, progress=lambda event: None)


def told(results: list[Result]) -> list[object]:
    """What must be equal: all but wall time and place."""
    kept = [result.model_dump(exclude={"timings", "path"}) for result in results]
    # wall time stands in the first two, and the order of sets, which is each process's own, in the third
    timed = {"result.json", "trajectory.json", "verifier.log"}
    files = [{p.name: p.read_bytes() for p in sorted(Path(r.path).iterdir()) if p.name not in timed} for r in results]
    return [*kept, *files]


@pytest.mark.parametrize("agent", [SolutionAgent(), NopAgent()], ids=lambda agent: agent.name)
@pytest.mark.property
def test_processes_and_threads_agree(tmp_path: Path, agent: Agent) -> None:
    """Results, verdicts and event logs are the same, in the same order."""
    seeds = LEAST // len(TASKS) + 1

    assert serves(InProcessRuntime(), agent, seeds * len(TASKS))
    assert told(played(tmp_path / "a", agent, InProcessRuntime(), TASKS, seeds)) == told(
        played(tmp_path / "b", agent, Threads(), TASKS, seeds)
    )


def test_what_processes_serve() -> None:
    """Scripted players in process, and enough of them; never a runtime or an agent that holds anything of its own."""
    recorded = SolutionAgent(transport=lambda inner: inner)

    assert serves(InProcessRuntime(), SeatAgent("imap"), LEAST)
    assert not serves(InProcessRuntime(), SeatAgent("imap"), LEAST - 1)
    assert not serves(Threads(), SeatAgent("imap"), LEAST)
    assert not serves(InProcessRuntime(), recorded, LEAST)
    assert not serves(InProcessRuntime(), ScriptedAgent([]), LEAST)


@pytest.mark.property
def test_interrupt_ends_the_processes(tmp_path: Path) -> None:
    """Ctrl-C in the middle: exit 130 within seconds, no process left, and --resume plays the rest."""
    command = [sys.executable, "-m", "harness", "run", "uniform-*", "--agent", "imap", "--runtime", "inprocess", "--yes"]
    started = subprocess.Popen(
        ["env", "--default-signal=INT", *command, "--out", str(tmp_path / "run")], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    while "/45]" not in started.stderr.readline():
        assert started.poll() is None, "the run ended before it could be interrupted"
    started.send_signal(signal.SIGINT)
    began = time.monotonic()
    started.communicate(timeout=30)

    assert started.returncode == 130
    assert time.monotonic() - began < 20
    assert 0 < len(list((tmp_path / "run").rglob("result.json"))) < 45
    done = subprocess.run(
        [*command, "--resume", str(tmp_path / "run"), "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["summary"]["episodes"] == 45
    assert "concurrent.futures" not in done.stderr


def test_failing_judge_is_attributed(tmp_path: Path) -> None:
    """A runtime whose judge is replaced is asked, not passed over."""

    class Refusing(InProcessRuntime):
        def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
            return Judgement(b"{}", b"")

    results = played(tmp_path / "run", NopAgent(), Refusing(), TASKS[:1], LEAST)

    assert {result.cause for result in results} == {"verifier"}
