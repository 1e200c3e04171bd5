"""A task, a seed and a client leave one trace, however slow the network and whatever the process."""

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime
from tests.shipped import SHIPPED
from worlds.core.wire import Transport, WireRequest, WireResponse

TASKS = [*(task for task in SHIPPED if not task.is_seated), *[task for task in SHIPPED if task.is_seated][::9]]
"""Games are data for one and the same code: every ninth will do."""

MOST_DELAY_S = 0.5
FEW = 12


def trace(task: Task, *, slow: bool = False) -> str:
    """The trace hash of the oracle at seed 0."""
    agent = SolutionAgent(transport=delaying if slow else None)
    with InProcessRuntime().open(EpisodeSpec("test", "test", task, 0)) as pod:
        agent.play(task, 0, pod, Budget(), Report(agent=agent.name))
        return str(json.loads(pod.finish().splitlines()[-1])["hash"])


def delaying(inner: Transport) -> Transport:
    """A network that takes anything up to half a second, before and after."""
    chance = random.Random(7)

    def send(request: WireRequest) -> WireResponse:
        time.sleep(chance.uniform(0, MOST_DELAY_S / 2))
        answer = inner(request)
        time.sleep(chance.uniform(0, MOST_DELAY_S / 2))
        return answer

    return send


@pytest.mark.property
def test_latency_changes_nothing() -> None:
    """Up to 500 ms of real delay at each request leaves the trace of every oracle with few requests as it was."""
    tasks = [task for task in TASKS if task.parley and task.parley.budgets.steps <= FEW]
    with ThreadPoolExecutor(len(tasks)) as pool:
        slow = list(pool.map(lambda task: trace(task, slow=True), tasks))

    assert [trace(task) for task in tasks] == slow


@pytest.mark.property
@pytest.mark.parametrize("step", [17, 1])
def test_hash_seed_changes_nothing(tmp_path: Path, step: int) -> None:
    """Another PYTHONHASHSEED, in another process, leaves every oracle's trace as it was, or every seventeenth one's."""
    tasks = TASKS[::step]
    command = [
        sys.executable,
        "-m",
        "harness",
        "run",
        *(task.task_id for task in tasks),
        "--yes",
        "--runtime",
        "inprocess",
        "--json",
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "4242"}, capture_output=True, text=True, check=True
    )
    there = {result["task_id"]: result["trace_hash"] for result in json.loads(done.stdout)["episodes"]}

    assert {task.task_id: trace(task) for task in tasks} == there
