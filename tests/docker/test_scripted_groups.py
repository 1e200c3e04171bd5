"""Scripted groups in real containers come to the same logs as in this process, and to the accuracies that are proved."""

from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.paths import ROOT
from harness.pod import Runtime
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.docker.runtime import DockerRuntime
from harness.runtimes.inprocess import InProcessRuntime
from oracles.hidden_profile.session import score_group
from parley.families.hidden_profile.seats import PLAYERS
from worlds.core.events import Noted, read_log
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import tabulate

pytestmark = pytest.mark.docker

NAMES = ("borehole-for-kanyada", "bakery-switch")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """One deck whose points are counted, and one of matches."""
    return [read_task(ROOT / "tasks" / "hidden-profile" / name) for name in NAMES]


def played(folder: Path, tasks: list[Task], name: str, runtime: Runtime) -> list[Result]:
    """Both decks by one group, on a hidden deal and a manifest one."""
    plan, images = Plan(folder.name, tasks, [0, 1], 1, AgentSpec(kind="seats", name=name)), runtime.prepare(tasks)
    return run_plan(plan, runtime, RunFolder(folder), workers=2, images=images, progress=lambda event: None)


@pytest.mark.parametrize("name", PLAYERS)
def test_groups_in_containers_are_the_proved_ones(runtime: DockerRuntime, tasks: list[Task], name: str, tmp_path: Path) -> None:
    """Trace and reward are those of this process, and the reward is the proved one unless a coin or the order decides."""
    here, there = (played(tmp_path / way.name, tasks, name, way) for way in (InProcessRuntime(), runtime))

    assert [(r.trace_hash, r.reward, r.status) for r in there] == [(r.trace_hash, r.reward, "graded") for r in here]
    assert sorted(str(result.metrics["deal"]) for result in there) == ["hidden", "hidden", "manifest", "manifest"]
    for result in there if name not in ("coin", "one_fact") else ():
        assert result.reward == float(score_group(tabulate(dealt(result)), name).average or 0)


def dealt(result: Result) -> Scenario:
    """The scenario of an episode, as its log opens with it."""
    log = read_log((Path(result.path) / "events.jsonl").read_bytes())
    return Scenario.model_validate(next(event.data["scenario"] for event in log if isinstance(event, Noted)))
