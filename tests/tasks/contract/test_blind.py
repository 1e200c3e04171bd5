"""How far a plain first attempt gets: scripts written from the instructions alone, played at any level.

None of them has seen a server, a test or a solution. They win the default level; what they win of a harder one is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessPod
from parley.proof.plays import MOST_REQUESTS, Exchange, Play, judge
from parley.sharing.release import pinned_tasks
from tests.tasks.contract.blind.scripts import SCRIPTS, Script
from tests.tasks.contract.blind.service import Service
from tests.tasks.contract.conftest import TASKS
from worlds.core.manifest import OptionValue
from worlds.core.testing import client
from worlds.core.wire import WireRequest, WireResponse

SEEDS = range(3)

LOSES_AT_LEVEL_1: dict[str, str] = {}
"""Task -> why its script does not win the default level."""

TOP = 4
LOST_AT_THE_TOP = 25
"""Of the 33 tasks, how many a plain script must lose at the top level, on every seed."""


def played_by(task: Task, script: Script, seed: int, settings: Mapping[str, OptionValue] | None = None) -> Play:
    """One episode of a script; what it raises is noted, as a traceback would end it."""
    pod = InProcessPod(EpisodeSpec("blind", f"blind-{seed}", task, seed, overrides=settings or {}))
    played = Play("blind", seed, settings or {}, pod.instruction)

    def send(request: WireRequest) -> WireResponse:
        if len(played.exchanges) >= MOST_REQUESTS:
            raise RuntimeError(f"the script made more than {MOST_REQUESTS} requests")
        played.exchanges.append(Exchange(request, pod.call(request)))
        return played.exchanges[-1].response

    with client(send) as api:

        def wait(seconds: float) -> None:
            api.post("/clock/wait", json={"seconds": seconds}).raise_for_status()

        try:
            script(Service(api, pod.instruction, wait))
        except Exception as error:  # noqa: BLE001 - a plain script may stumble over anything, and has lost if it does
            played.raised = f"{type(error).__name__}: {error}"
    played.log, played.failure = pod.finish(), pod.failure
    return played


def rewards(task: Task, seeds: Sequence[int], settings: Mapping[str, OptionValue] | None = None) -> list[float]:
    """The reward that a task's script gets on each seed; `settings` are options as `--set` takes them, `{"level": 4}`."""
    plays = [played_by(task, SCRIPTS[task.task_id], seed, settings) for seed in seeds]
    judge(task, plays)
    return [float(played.outcome.reward) for played in plays]


def test_every_task_of_the_release_has_a_script(family: list[Task]) -> None:
    """The table names each contract task that `harness release` pins, and no other that is not there; a new one needs none."""
    assert pinned_tasks("contract").keys() <= SCRIPTS.keys() <= {task.task_id for task in family}


@pytest.mark.property
@pytest.mark.parametrize("task", [task for task in TASKS if task.task_id in SCRIPTS], ids=lambda task: task.task_id)
def test_a_plain_script_wins_the_default_level(task: Task) -> None:
    """Who does what the instruction says, in the obvious order, wins, but for tasks that are listed with a reason."""
    expected = 0.0 if task.task_id in LOSES_AT_LEVEL_1 else 1.0
    assert rewards(task, SEEDS) == [expected] * len(SEEDS)


@pytest.mark.property
def test_plain_scripts_lose_at_the_top_level(family: list[Task]) -> None:
    """What the default level lets through does not do at the top: the hard levels ask for planning that the text asks for."""
    played = [task for task in family if task.task_id in SCRIPTS]
    lost = [task.task_id for task in played if max(rewards(task, SEEDS, {"level": TOP})) < 1]

    assert len(lost) >= LOST_AT_THE_TOP, sorted({task.task_id for task in played}.difference(lost))
