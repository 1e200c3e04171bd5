"""All 72 published tasks come through the importer as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.certificate import certify
from parley.families.calendar.authoring.calbench import CalBenchTask, imported, read_tasks
from parley.families.calendar.authoring.folders import write_task
from parley.proof.sync import drift, vouched

pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def pairs(reference: Path) -> list[tuple[dict[str, Any], CalBenchTask]]:
    """Each published line beside what it became."""
    path = reference / "calbench" / "tasks.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return list(zip(rows, read_tasks(path), strict=True))


def test_calendars_are_kept(pairs: list[tuple[dict[str, Any], CalBenchTask]]) -> None:
    """Every cell of every calendar holds the same item at the same cost, blocked or not."""
    for row, task in pairs:
        for given, cells in zip(row["calendars"], task.scenario.calendars, strict=True):
            assert [
                None if cell is None else (cell["errand_id"], cell["cost"], cell.get("blocked", False)) for cell in given
            ] == [None if cell is None else (cell.id, cell.cost, cell.blocked) for cell in cells]


def test_meetings_and_speakers_are_kept(pairs: list[tuple[dict[str, Any], CalBenchTask]]) -> None:
    """Meetings, participants and speaker orders are the published ones, or drawn where there are none."""
    for row, task in pairs:
        for given, meeting in zip(row["meetings"], task.scenario.meetings, strict=True):
            assert (meeting.id, list(meeting.participants)) == (given["id"], given["participants"])
            assert list(meeting.order) == given.get("speaker_order", list(meeting.order))


def test_costs_are_scored_as_levels(pairs: list[tuple[dict[str, Any], CalBenchTask]]) -> None:
    """Varied tasks show 1, 100, 1000 and score 1, 2, 3; uniform ones show what they score."""
    for row, task in pairs:
        varied = "varied" in row["suite"]
        assert task.scenario.scale == ({1: 1, 100: 2, 1000: 3} if varied else {})


def test_shown_optimum_is_the_recorded_one(pairs: list[tuple[dict[str, Any], CalBenchTask]], reference: Path) -> None:
    """On the shown scale our certificate's optimum is the exact one on record."""
    games = json.loads((reference / "calbench" / "games.json").read_text())
    recorded = {task["task_id"]: task for task in _tasks(games)}
    for row, task in pairs:
        known = certify(task.scenario).document()
        assert known["shown_optimum"] == recorded[row["task_id"]]["exact_optimal_cost"]
        assert (known["feasible"], known["total"]) == (recorded[row["task_id"]]["F"], recorded[row["task_id"]]["F_total"])


def test_missing_speakers_do_not_stop_the_import(pairs: list[tuple[dict[str, Any], CalBenchTask]]) -> None:
    """Without speaker orders, as in the released files, each agent is first speaker once."""
    for row, _ in pairs:
        for meeting in row["meetings"]:
            meeting.pop("speaker_order", None)
        scenario = imported(json.dumps(row)).scenario
        assert sorted(meeting.order[0] for meeting in scenario.meetings) == [0, 1, 2, 3, 4]


def test_folders_are_whole(pairs: list[tuple[dict[str, Any], CalBenchTask]], tmp_path: Path) -> None:
    """A published task writes a folder of ours that does not drift."""
    for _, task in pairs[::24]:
        assert drift(write_task(tmp_path, task.name, task.scenario, task.difficulty), vouched) == []


def _tasks(games: dict[str, Any]) -> list[dict[str, Any]]:
    found = games["tasks"]
    return [{"task_id": name, **one} for name, one in found.items()] if isinstance(found, dict) else list(found)
