"""A run on two nodes is the run that one machine plays."""

from __future__ import annotations

import json
from pathlib import Path

from two_nodes import TwoNodes, driver_environ, harness

from harness.registry import discover, select
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Script

ROOT = Path(__file__).parents[3]
FEW = ("presigned-url-download", "token-refresh-workflow", "uniform-01")


def test_every_task_leaves_the_trace_that_it_leaves_here(cluster: TwoNodes, tmp_path: Path) -> None:
    """Some 200 episodes of all families, played by two nodes: rewards.jsonl, which has the hashes, is equal byte for byte."""
    words = ("--yes", "--agent", "oracle", "--runtime", "inprocess", "--workers", 8)

    done = cluster.run(*words, "--out", tmp_path / "there")
    here = harness("run", *words, "--out", tmp_path / "here")

    assert (done.returncode, here.returncode) == (0, 0), done.stderr
    rewards = (tmp_path / "there/rewards.jsonl").read_bytes()
    assert rewards == (tmp_path / "here/rewards.jsonl").read_bytes()
    lines = [json.loads(line) for line in rewards.splitlines()]
    assert len(lines) >= 200
    assert len({line["family"] for line in lines}) == 3
    assert cluster.processes() == {}


def test_sandboxes_of_nodes_leave_the_same_trace(cluster: TwoNodes, tmp_path: Path) -> None:
    """In bubblewrap, with the files of each episode as whole as they are here."""
    words = (*FEW, "--agent", "oracle", "--seeds", "0-1")

    done = cluster.run(*words, "--runtime", "bubblewrap", "--workers", 4, "--out", tmp_path / "there")
    here = harness("run", *words, "--runtime", "inprocess", "--out", tmp_path / "here")

    assert (done.returncode, here.returncode) == (0, 0), done.stderr
    assert (tmp_path / "there/rewards.jsonl").read_bytes() == (tmp_path / "here/rewards.jsonl").read_bytes()
    names = [
        {str(path.relative_to(side)) for path in side.rglob("s0-a1/*")} for side in (tmp_path / "there", tmp_path / "here")
    ]
    assert names[0] == names[1]


def test_models_are_asked_with_the_keys_of_the_nodes_and_counted_by_the_run(cluster: TwoNodes, tmp_path: Path) -> None:
    """The driver has no key; what nodes spend is in its ledger, and its limit ends the run for all of them."""
    tasks = select(discover(ROOT / "tasks"), FEW[:2])
    model = Script(play=SolutionModel(tasks, lambda task, attempt: "solve", "tool"))
    assert not [name for name in driver_environ() if "API_KEY" in name]
    with OpenAIServer(model) as server:
        words = (*FEW[:2], "--model", "openai/any", "--api-base", server.url, "--interface", "tool", "--runtime", "inprocess")
        done = cluster.run(*words, "--seeds", "0-3", "--workers", 4, "--json", "--out", tmp_path / "run")
        asked, keys = len(server.requests), {one.headers["authorization"] for one in server.requests}
        few = cluster.run(*words, "--seeds", "0-9", "--workers", 2, "--max-tokens", 5000, "--out", tmp_path / "few")

    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert (keys, told["spent"]["calls"]) == ({"Bearer of-the-nodes"}, asked)
    assert (few.returncode, "--max-tokens of 5000 is reached" in few.stderr) == (3, True), few.stderr
    assert "--executor ray --address" in few.stderr


def test_nothing_of_ray_stands_on_stdout(cluster: TwoNodes, tmp_path: Path) -> None:
    """Ray tells of each worker that a run ends; stdout is the document alone, and stderr speaks of no raylet."""
    done = cluster.run(FEW[0], "--agent", "oracle", "--runtime", "inprocess", "--json", "--out", tmp_path / "run")

    assert (json.loads(done.stdout)["summary"]["success"], "raylet" in done.stderr) == (1, False), done.stderr
