"""A world that is an ordinary FastAPI app, in containers: answers and logs are those in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent, players
from harness.pod import EpisodeSpec
from harness.registry import read_task
from harness.runtimes.docker.runtime import DockerRuntime
from harness.trust import admitted
from parley.proof.plays import play
from parley.proof.sync import new_task
from tests.worlds.core.ordinary_app import ASKED, FAULTS, shop_task
from worlds.core.events import read_log
from worlds.core.testing import world_in_process
from worlds.core.wire import request

pytestmark = pytest.mark.docker

Specs = Callable[..., EpisodeSpec]


@pytest.fixture(scope="module", autouse=True)
def _own_images(runtime: DockerRuntime) -> Iterator[None]:
    """Nothing of these tasks stays on the engine."""
    yield
    for task_id in ("shop", "an-app"):
        runtime.images.clean_images(task_id)


def test_every_operation(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """Each thing that an app can do gives the same bytes and the same log, its faults included."""
    task = shop_task(tmp_path)
    runtime.prepare([task])
    for number, fault in enumerate(FAULTS):
        near, asked = world_in_process(task.world_folder, seed=3), [*ASKED, request("GET", fault)]
        with runtime.open(spec(f"e{number}", task=task, seed=3)) as pod:
            answers = [pod.call(made) for made in asked]
            log = pod.finish()

        assert [near(made) for made in asked] == answers
        assert near.log.dump() == log


def test_every_client_of_the_new_task(runtime: DockerRuntime, spec: Specs, tmp_path: Path) -> None:
    """The oracle and the wrong clients of what `new --fastapi` writes leave the traces that they leave in process."""
    task = admitted(read_task(new_task(tmp_path, "contract", "an-app", "fastapi")))
    runtime.prepare([task])
    far = {}
    for player in players(task):
        with runtime.open(spec(f"e-{player}".replace("_", "-"), task=task, seed=1, needs_main=True)) as pod:
            SolutionAgent(player).play(task, 0, pod, Budget(), Report(player))
            far[player] = read_log(pod.finish())[-1].hash

    assert far == {player: play(task, player, 1).trace_hash for player in players(task)}
