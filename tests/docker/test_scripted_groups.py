"""Scripted groups in real containers come to the same logs as in this process, and to the accuracies that are proved."""

from pathlib import Path

import pytest

from harness.agents.seats import SeatAgent
from harness.families.hidden_profile.seats import PLAYERS
from harness.plan import Plan
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.run import run_plan
from harness.runtimes.base import Runtime
from harness.runtimes.docker.runtime import DockerRuntime
from harness.runtimes.inprocess import InProcessRuntime
from oracles.hidden_profile import expected
from oracles.hidden_profile.prover import prove
from worlds.hidden_profile.rules.scenario import read_scenario
from worlds.hidden_profile.rules.worlds import tabulate

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
NAMES = ("choir-coach-departure", "bakery-switch")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """One scenario of each grade."""
    found = [read_task(ROOT / "tasks" / "hidden-profile" / name) for name in NAMES]
    assert [prove(read_scenario(task.world_folder / "scenario.json")).grade for task in found] == ["A", "B"]
    return found


def played(folder: Path, tasks: list[Task], name: str, runtime: Runtime) -> list[Result]:
    """Both scenarios by one group."""
    plan, images = Plan(folder.name, tasks, [0], 1, SeatAgent(name)), runtime.prepare(tasks)
    return run_plan(plan, runtime, RunFolder(folder), workers=2, images=images, progress=lambda event: None)


@pytest.mark.parametrize("name", PLAYERS)
def test_groups_in_containers_are_the_proved_ones(runtime: DockerRuntime, tasks: list[Task], name: str, tmp_path: Path) -> None:
    """Trace and reward are those of this process; wherever no coin falls the reward is the one that is worked out."""
    here, there = (played(tmp_path / way.name, tasks, name, way) for way in (InProcessRuntime(), runtime))

    assert [(r.trace_hash, r.reward, r.status) for r in there] == [(r.trace_hash, r.reward, "graded") for r in here]
    for task, result in zip(tasks, there, strict=True):
        if name != "coin":
            scores = expected.played(tabulate(read_scenario(task.world_folder / "scenario.json")), name)
            assert result.reward == float(scores.average or 0)
