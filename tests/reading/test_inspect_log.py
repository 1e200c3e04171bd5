"""What `harness export inspect` writes of an episode; that Inspect opens it is tested in integrations/inspect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.agent import AgentSpec, Budget
from harness.agents.scripted import NopAgent
from harness.errors import VerifierFailure
from harness.play.agents import make_agent
from harness.play.episode import lost_episodes, run_in_process
from harness.play.outcome import record
from harness.pod import EpisodeSpec
from harness.reading import read_episode
from harness.reading.inspect_log import log_parts
from harness.records import Key, RunFolder
from harness.registry import Task
from tests.shipped import SHIPPED


def spec_of(task: Task) -> tuple[EpisodeSpec, Key]:
    """One episode of a task."""
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    return EpisodeSpec("run", key.name, task, 0), key


def test_a_log_is_whole_and_a_seat_is_a_span(tmp_path: Path) -> None:
    """A game, a task of one agent and an episode that was lost: one JSON document, each with what it was worth."""
    game = next(task for task in SHIPPED if task.family == "calendar")
    alone, lost = [task for task in SHIPPED if task.family == "contract"][:2]
    folder, silent = RunFolder(tmp_path), make_agent(AgentSpec(kind="seats", name="silent"), {})
    outcomes = [
        *run_in_process([spec_of(game)], silent, Budget()),
        *run_in_process([spec_of(alone)], NopAgent(), Budget()),
        *lost_episodes([spec_of(lost)], NopAgent(), VerifierFailure("no verdict"), "inprocess"),
    ]
    results = [record(outcome, folder) for outcome in outcomes]
    parts = list(log_parts("run", "2026-01-01T00:00:00+00:00", results, (read_episode(Path(one.path)) for one in results)))
    log = json.loads("".join(parts))
    first, second, third = log["samples"]
    begun = [event for event in first["events"] if event["event"] == "span_begin"]
    calls = [event for event in first["events"] if event["event"] == "model"]

    assert len(parts) == 1 + len(results) + 1
    assert (log["results"]["total_samples"], log["results"]["completed_samples"]) == (3, 2)
    assert first["id"] == f"calendar/{game.task_id}/s0"
    assert [event["name"] for event in begun] == [f"seat {seat}" for seat in range(5)]
    assert len(first["messages"]) == 5 + 2 * len(calls)
    assert {event["span_id"] for event in calls} == {event["id"] for event in begun}
    assert first["scores"]["reward"]["value"] == results[0].reward
    assert (second["scores"]["success"]["value"], second["scores"]["success"]["answer"]) == ("I", "OTHER")
    assert ("scores" in third, third["error"]["message"]) == (False, "verifier: no verdict")


@pytest.mark.property
def test_runs_are_exported_by_name(harness: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    """One log a run, into a new folder; one that is not empty is refused."""
    run = harness("run", "csrf-form-submit", "--runtime", "inprocess", "--out", tmp_path / "run")
    done, again = (harness("export", "inspect", tmp_path / "run", "--out", tmp_path / "logs") for _ in range(2))

    assert (run.returncode, done.returncode, again.returncode) == (0, 0, 2)
    assert "1 logs, 1 episodes" in done.stderr
    assert "is not empty" in again.stderr
    (log,) = (tmp_path / "logs").iterdir()
    assert json.loads(log.read_text(encoding="utf-8"))["eval"]["task"] == "parley"
