"""An agent that uses up whatever there is: connections, disks, processes, memory, output; it is its own that ends.

Where the way to the goal stays open, the oracle that follows in the same pod must still earn the reward.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from typing import Any

import pytest

from harness.agent import Budget
from harness.agents.solutions import SolutionAgent
from harness.episode import run_episode
from harness.pod import OUTPUT_CAP, EpisodeSpec, Runtime
from harness.records import Key
from harness.registry import Task, read_task
from parley.proof.attacks.scripts import script
from tests.hostile.verdicts import NOTHING, SUCCESS, Events, Play, verdict
from worlds.core.wire import request

HTTP = script("http")

SLOW = script("slow")


@pytest.fixture(scope="module")
def small(task: Task, runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The task on a machine whose memory is smaller than its disks, which are in memory too."""
    folder = shutil.copytree(task.path, tmp_path_factory.mktemp("small") / task.path.name)
    text = (folder / "task.toml").read_text(encoding="utf-8")
    (folder / "task.toml").write_text(text.replace("memory_mb = 1024", "memory_mb = 300"), encoding="utf-8")
    made = read_task(folder)
    assert made.file.environment.memory_mb == 300
    runtime.prepare([made])
    return made


def test_http_storm_leaves_the_world_standing(episode: Play, attacker: Any, log_of: Events) -> None:
    """Garbage, giant heads and a body of 1 GB are bounded, ten thousand connections are let go, and the goal stays in reach."""
    agent = attacker(["timeout 90 python3 /tmp/http.py"], files={"/tmp/http.py": HTTP}, oracle=True, limit_s=100)

    outcome = episode(agent)

    assert agent.output[0].splitlines() == ["b'HTTP/1.1 400'", "b'HTTP/1.1 400'", "b'HTTP/1.1 413'"]
    assert [e.get("kind") for e in log_of(outcome)][:7] == [None, *["stray"] * 5, "ok"]
    assert verdict(outcome) == SUCCESS


def test_slow_connections_cost_their_owner_only(episode: Play, attacker: Any) -> None:
    """An agent that holds all the connections a world can have shuts itself out; host, log and verdict are not held up."""
    start = """
    setsid python3 /tmp/slow.py > /dev/null 2>&1 &
    until test -s /tmp/slow.held; do /usr/bin/sleep 0.05; done; cat /tmp/slow.held
    """
    asked: list[int] = []

    def ask(pod: Any) -> None:
        asked.append(pod.call(request("GET", "/clock")).status)
        pod.stop("wall")

    agent = attacker([start], files={"/tmp/slow.py": SLOW}, then=ask)

    outcome = episode(agent)

    assert int(agent.output[0]) > 500
    assert asked == [200]
    assert verdict(outcome) == NOTHING
    assert outcome.result.failure_detail == {"reason": "wall"}


def test_full_disks_are_its_own(episode: Play, attacker: Any) -> None:
    """Every place it can write to has a size; when all are full, commands still run and the world still answers."""
    fill = "bash /tmp/fill /workspace /tmp /dev/shm; bash /tmp/names 100000 /workspace /tmp /dev/shm > /dev/null"
    agent = attacker(
        ["df --output=size -m / > /dev/null", fill, "curl -s http://api:8080/clock; echo x > /tmp/x"],
        files={f"/tmp/{name}": script(name) for name in ("fill", "names")},
        limit_s=100,
    )

    outcome = episode(agent)

    sizes = [int(line) for line in agent.output[1].split()]
    assert len(sizes) == 3
    assert all(0 < size <= 260 for size in sizes)
    assert '"virtual_time"' in agent.output[2]
    assert verdict(outcome) == NOTHING


def test_fork_bomb_ends_with_its_pod(episode: Play, attacker: Any, log_of: Events) -> None:
    """A bomb whose every process has a session of its own is bounded, the episode counts, and the world answers throughout."""
    start = "(setsid bash /tmp/bomb > /dev/null 2>&1 &); until test -p /tmp/never; do :; done; echo started"
    asked: list[int] = []
    agent = attacker(
        [start, "echo again"],
        files={"/tmp/bomb": script("bomb")},
        then=lambda pod: asked.append(pod.call(request("GET", "/task")).status),
    )

    outcome = episode(agent)

    assert agent.output[0] == "started\n"
    assert asked == [200]
    assert verdict(outcome) == NOTHING
    assert [e.get("kind") for e in log_of(outcome)] == [None, "ok"]
    assert subprocess.run(["true"], check=False).returncode == 0


def test_fork_bomb_takes_nobodys_time(runtime: Runtime, task: Task, run_id: str, untouched: tuple[str, str]) -> None:
    """By real time: while a bomb goes off, its own world answers, another episode is played, and it ends with its pod."""
    start = "(setsid bash /tmp/bomb > /dev/null 2>&1 &); until test -p /tmp/never; do :; done"
    with runtime.open(EpisodeSpec(run_id, "bombed", task, 0, needs_main=True)) as pod:
        pod.put({"/tmp/bomb": script("bomb").encode()})
        pod.run(["bash", "-c", start], timeout_s=30, virtual_time=False)
        began = time.monotonic()
        answers = [pod.call(request("GET", "/clock")).status for _ in range(20)]
        answered_s, began = time.monotonic() - began, time.monotonic()
        key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
        other = run_episode(EpisodeSpec(run_id, "other", task, 0), key, runtime, SolutionAgent(), Budget()).result
        played_s, began = time.monotonic() - began, time.monotonic()
        pod.finish()
    ended_s = time.monotonic() - began

    assert answers == [200] * 20
    assert (other.reward, other.trace_hash) == (1.0, untouched[1])
    assert (answered_s < 10, played_s < 60, ended_s < 30) == (True, True, True), (answered_s, played_s, ended_s)


def test_memory_hog_is_killed_inside(episode: Play, attacker: Any, untouched: tuple[str, str]) -> None:
    """A process that takes more than `main` has ends, nothing else does, and the oracle plays on."""
    hog = "python3 -c 'held = []\nwhile True: held.append(bytearray(b\"x\") * (64 << 20))'"
    agent = attacker([hog, "echo still here"], oracle=True)

    outcome = episode(agent)

    assert agent.done[0].code not in (0, None)
    assert agent.output[1] == "still here\n"
    assert verdict(outcome) == SUCCESS
    assert outcome.result.trace_hash == untouched[1]


def test_ending_its_own_machine_is_no_way_out(episode: Play, attacker: Any, small: Task) -> None:
    """Where full disks use up all memory, the agent's machine may end with them; the episode counts all the same."""
    fill = "for place in /workspace /tmp /dev/shm; do head -c 250M /dev/zero > $place/big; done"
    agent = attacker([fill, fill, "echo x"])

    outcome = episode(agent, played=small)

    assert len(agent.done) == 3
    assert verdict(outcome) == NOTHING


def test_flood_of_output_is_cut(episode: Play, attacker: Any) -> None:
    """100 MB of output are kept at their cap with the rest counted; what a detached child goes on writing is nobody's."""
    child = "setsid bash -c 'while :; do echo flood; done' & echo done"
    agent = attacker(
        ["head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2", child, "tr '\\0' '\\377' < /dev/zero | head -c 9999"]
    )

    outcome = episode(agent)

    assert (len(agent.done[0].output), agent.done[0].omitted) == (OUTPUT_CAP, 100_000_000 - OUTPUT_CAP)
    assert agent.done[1].code == 0
    assert len(agent.done[1].output) <= OUTPUT_CAP
    assert agent.done[2].output == b"\xff" * 9999
    assert verdict(outcome) == NOTHING
    assert len(outcome.files["agent.log"]) < 1 << 20
