"""What `harness export inspect` writes of an episode; that Inspect opens it is tested in integrations/inspect."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from zipfile import ZipFile

import pytest

from parley.interop.inspect_log import LogTally, write_log
from tests.parley.interop.recorded import recorded


def contents(file: Path) -> dict[str, Any]:
    """Every document of a log, by its name."""
    with ZipFile(file) as log:
        return {name: json.loads(log.read(name)) for name in log.namelist()}


def test_a_log_is_whole_and_a_seat_is_a_span(tmp_path: Path) -> None:
    """A game, a task of one agent and an episode that was lost: a sample each, with what it was worth."""
    episodes = list(recorded(tmp_path))
    results = [episode.result for episode in episodes]
    write_log(tmp_path / "a.eval", "run", datetime(2026, 1, 1, tzinfo=UTC), LogTally.of(results), episodes)
    log = contents(tmp_path / "a.eval")
    first, second, third = (log[f"samples/{result.family}/{result.task_id}/s0_epoch_1.json"] for result in results)
    begun = [event for event in first["events"] if event["event"] == "span_begin"]
    calls = [event for event in first["events"] if event["event"] == "model"]

    assert len(log) == len(results) + 3
    assert [log["header.json"]["results"][name] for name in ("total_samples", "completed_samples")] == [3, 2]
    assert log["_journal/start.json"]["eval"] == log["header.json"]["eval"]
    assert [(one["id"], one.get("error")) for one in log["summaries.json"]] == [
        (first["id"], None),
        (second["id"], None),
        (third["id"], "verifier: the verifier failed (no verdict)"),
    ]
    assert first["id"] == f"calendar/{results[0].task_id}/s0"
    assert [event["name"] for event in begun] == [f"seat {seat}" for seat in range(5)]
    assert len(first["messages"]) == 5 + 2 * len(calls)
    assert {event["span_id"] for event in calls} == {event["id"] for event in begun}
    assert first["scores"]["reward"]["value"] == results[0].reward
    assert (second["scores"]["success"]["value"], second["scores"]["success"]["answer"]) == ("I", "OTHER")
    assert ("scores" in third, third["error"]["message"]) == (False, "verifier: the verifier failed (no verdict)")


@pytest.mark.property
def test_runs_are_exported_by_name(harness: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    """One log a run, into a new folder; one that is not empty is refused."""
    run = harness("run", "csrf-form-submit", "--runtime", "inprocess", "--out", tmp_path / "run")
    done, again = (harness("export", "inspect", tmp_path / "run", "--out", tmp_path / "logs") for _ in range(2))

    assert (run.returncode, done.returncode, again.returncode) == (0, 0, 2)
    assert "1 logs, 1 episodes" in done.stderr
    assert "is not empty" in again.stderr
    (log,) = (tmp_path / "logs").iterdir()
    assert contents(log)["header.json"]["eval"]["task"] == "parley"
