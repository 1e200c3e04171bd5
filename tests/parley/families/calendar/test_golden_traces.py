"""Every calendar task's oracle, and one game of IMAP, leave the trace hash that stands in golden_traces.json.

The hash says every byte of the log: texts, notes, costs, times. `make golden` writes the file anew, and a review reads why.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.agent import AgentSpec, Budget, Report
from harness.agents.seats.agent import SeatAgent
from harness.agents.solutions import SolutionAgent
from harness.live_agent import Agent
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime
from tests.sampling import spread
from tests.shipped import RELEASED, SHIPPED

PATH = Path(__file__).with_name("golden_traces.json")
TASKS = [task for task in SHIPPED if task.family == "calendar"]
KEPT = [task for task in TASKS if task in RELEASED or task.task_id in json.loads(PATH.read_text(encoding="utf-8"))]
"""Those that are part of the release, and a new one since its first `make golden`."""


def traces(task: Task) -> dict[str, str]:
    """The last hash of each player's log."""
    agents: dict[str, Agent] = {"oracle": SolutionAgent(), "imap": SeatAgent(AgentSpec(kind="seats", name="imap"))}
    found: dict[str, str] = {}
    for name, agent in agents.items():
        with InProcessRuntime().open(EpisodeSpec("golden", name, task, 0)) as pod:
            agent.play(task, 0, pod, Budget(), Report(agent=name))
            found[name] = json.loads(pod.finish().splitlines()[-1])["hash"]
    return found


@pytest.mark.parametrize("task", spread(KEPT), ids=lambda task: task.task_id)
def test_traces_are_the_golden_ones(task: Task) -> None:
    """Nothing of a game has changed that nobody meant to change."""
    assert traces(task) == json.loads(PATH.read_text(encoding="utf-8")).get(task.task_id), "if this is meant, run: make golden"


if __name__ == "__main__":
    PATH.write_text(json.dumps({task.task_id: traces(task) for task in TASKS}, indent=1) + "\n", encoding="utf-8")
