"""Time binds: who idles for ten virtual seconds before each request, and is right in all else, loses what a window was to cost.

It is the oracle that idles, so it reads every deadline and plans with it; only its own pace is none it knows of.
"""

from __future__ import annotations

import json

import pytest

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime
from parley.proof.plays import SOLVE, Play, judge
from worlds.core import wire
from worlds.core.wire import Transport, WireRequest, WireResponse

IDLE_S, SEEDS = 10, range(10)
TIMED = {"Q2", "Q4"}

UNBOUND = {
    "api-rate-limit-patience": "its quota makes everybody wait for some 50 s, and what was idled is not waited then",
}
"""Where the published knobs leave a slow client enough time, with the reason."""


def idle(inner: Transport) -> Transport:
    """A path to the world on which every request but those of the clock is sent ten seconds late."""

    def send(request: WireRequest) -> WireResponse:
        if not request.path.startswith(b"/clock"):
            inner(wire.request("POST", "/clock/wait", body=json.dumps({"seconds": IDLE_S})))
        return inner(request)

    return send


def idled(task: Task, seed: int) -> Play:
    """The oracle's episode on such a path."""
    played = Play(SOLVE, seed)
    with InProcessRuntime().open(EpisodeSpec("idle", f"idle-{seed}", task, seed)) as pod:
        SolutionAgent(transport=idle).play(task, seed, pod, Budget(), Report(agent="idle"))
        played.log = pod.finish()
    return played


@pytest.mark.property
def test_ten_idle_seconds_before_each_request_lose(task: Task) -> None:
    """On every seed of every task of Q2 and Q4, but for those that are listed with a reason."""
    if task.parley is None or task.parley.quadrant not in TIMED:
        pytest.skip("a task of Q3 is about bytes")
    plays = [idled(task, seed) for seed in SEEDS]
    judge(task, plays)
    wins = [played.seed for played in plays if played.outcome.success]

    assert wins == [] if task.task_id not in UNBOUND else wins != []
