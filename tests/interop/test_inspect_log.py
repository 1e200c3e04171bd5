"""What `harness export inspect` writes of an episode; that Inspect opens it is tested in integrations/inspect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.interop.inspect_log import LogTally, log_parts
from tests.interop.recorded import recorded


def test_a_log_is_whole_and_a_seat_is_a_span(tmp_path: Path) -> None:
    """A game, a task of one agent and an episode that was lost: one JSON document, each with what it was worth."""
    episodes = list(recorded(tmp_path))
    results = [episode.result for episode in episodes]
    parts = list(log_parts("run", "2026-01-01T00:00:00+00:00", LogTally.of(results), episodes))
    log = json.loads("".join(parts))
    first, second, third = log["samples"]
    begun = [event for event in first["events"] if event["event"] == "span_begin"]
    calls = [event for event in first["events"] if event["event"] == "model"]

    assert len(parts) == 1 + len(results) + 1
    assert (log["results"]["total_samples"], log["results"]["completed_samples"]) == (3, 2)
    assert first["id"] == f"calendar/{results[0].task_id}/s0"
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
