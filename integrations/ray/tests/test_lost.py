"""Nodes and drivers that are lost, and runs that are stopped, cost no episode that was finished and leave nothing."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from two_nodes import TwoNodes, alive, await_true, finished, harness

from harness.registry import discover, select
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Fault, Messages, Script, ScriptedReply

ROOT = Path(__file__).parents[3]
NAMES = ("presigned-url-download", "token-refresh-workflow", "etag-conditional-get")
SLOW_S = 0.15


class Slowly:
    """A model that solves its task, and takes its time."""

    def __init__(self) -> None:
        self._solve = SolutionModel(select(discover(ROOT / "tasks"), NAMES), lambda task, attempt: "solve", "tool")

    def __call__(self, messages: Messages) -> ScriptedReply | str:
        """The next call, some time after the request."""
        time.sleep(SLOW_S)
        return self._solve(messages)


@pytest.fixture
def slow() -> Iterator[OpenAIServer]:
    """Serves it."""
    with OpenAIServer(Script(play=Slowly())) as server:
        yield server


def words(server: OpenAIServer, folder: Path, runtime: str = "inprocess") -> list[object]:
    """A run of twelve episodes with a model."""
    model = ("--model", "openai/any", "--api-base", server.url, "--interface", "tool", "--no-probe")
    return [*NAMES, *model, "--seeds", "0-3", "--runtime", runtime, "--workers", 6, "--out", folder]


def graded_once(folder: Path, before: dict[str, tuple[int, bytes]]) -> None:
    """All are graded, what was finished before is as it was, and no attempt that is kept has a grade."""
    now = finished(folder)
    assert {name: now[name] for name in before} == before
    assert [json.loads(data)["status"] for _, data in now.values()] == ["graded"] * 12
    kept = [json.loads(path.read_bytes()) for path in folder.glob("episodes/*/*/attempts/*/result.json")]
    assert {one["status"] for one in kept} <= {"ungraded"}


def test_a_node_killed_costs_no_finished_episode_and_repeats_none(
    cluster: TwoNodes, slow: OpenAIServer, tmp_path: Path
) -> None:
    """What was under way there is lost, kept as an attempt, and played again by the others."""
    node = cluster.add()
    driver = cluster.start(*words(slow, tmp_path / "run"))
    await_true("some results", lambda: len(finished(tmp_path / "run")) >= 2)
    before = finished(tmp_path / "run")
    cluster.kill(node)
    said, _ = driver.communicate()

    assert driver.returncode == 0, said
    graded_once(tmp_path / "run", before)
    kept = [json.loads(path.read_bytes()) for path in tmp_path.glob("run/episodes/*/*/attempts/*/result.json")]
    assert {(one["cause"], one["may_pass"]) for one in kept} <= {("runtime", True)}
    local = harness("run", *NAMES, "--agent", "oracle", "--seeds", "0-3", "--runtime", "inprocess", "--out", tmp_path / "here")
    assert local.returncode == 0
    assert hashes(tmp_path / "run") == hashes(tmp_path / "here")
    assert cluster.processes() == {}


def hashes(folder: Path) -> dict[str, str]:
    """Trace hashes by episode."""
    return {name: json.loads(data)["trace_hash"] for name, (_, data) in finished(folder).items()}


def test_a_driver_killed_is_gone_on_with(cluster: TwoNodes, slow: OpenAIServer, tmp_path: Path) -> None:
    """Its workers end with it; what it had written stays, the rest is played."""
    driver = cluster.start(*words(slow, tmp_path / "run"))
    await_true("some results", lambda: len(finished(tmp_path / "run")) >= 2)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    before = finished(tmp_path / "run")
    await_true("the end of its workers", lambda: not cluster.processes())
    again = cluster.run("--resume", tmp_path / "run", "--api-base", slow.url, "--no-probe")

    assert again.returncode == 0, again.stderr
    graded_once(tmp_path / "run", before)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_leaves_nothing_on_any_node(
    sent: signal.Signals, code: int, cluster: TwoNodes, tmp_path: Path
) -> None:
    """Stopped while sandboxes are open and models are asked: no worker, no sandbox is left, no episode is recorded."""
    silent = ScriptedReply(text="late", faults=(Fault(kind="stall", stall_s=100.0),))
    with OpenAIServer(Script(replies=[silent])) as server:
        driver = cluster.start(*words(server, tmp_path / "run", "bubblewrap"))
        await_true("questions from sandboxes", lambda: len(server.requests) >= 4)
        running = cluster.processes()
        driver.send_signal(sent)
        said, _ = driver.communicate()
        left = cluster.processes(), alive(running)

    assert (driver.returncode, "--resume" in said, "Traceback" in said) == (code, True, False), said
    assert any("bwrap" in line for line in running.values()), running
    assert left == ({}, set())
    assert finished(tmp_path / "run") == {}
