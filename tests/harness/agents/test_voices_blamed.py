"""A reply that cannot be read fails a whole recorded game, and blame stands at its seat in every place where a person looks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.agents.seats.lineup import SeatPlayer
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.reports.reading.addresses import episode_page
from parley.reports.viewing import Library, Site
from tests.conftest import Command
from tests.harness.agents.personalities.table import TABLES, VOICES, AtDecisions, Voiced

pytestmark = pytest.mark.property

SEATS = [(name, seat) for name, table in TABLES.items() for seat in range(table.seats)]
UNREAD = ("two answers", "refuses", "cut off")
"""Voices that say too much, nothing, and half of it."""

TOLD = {
    "calendar": "seat {} (voice) sent a decision that could not be read",
    "session": "Person {} (voice) gave a vote that names no option",
}


@pytest.mark.parametrize("voice", UNREAD)
@pytest.mark.parametrize(("name", "seat"), SEATS)
def test_blame_stands_at_the_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harness: Command, name: str, seat: int, voice: str
) -> None:
    """In result.json, `show` and the page the seat that could not be read is named, and no other; in the table, its player."""
    result = recorded(tmp_path / "run", monkeypatch, name, seat, voice)
    told = TOLD[name].format(seat if name == "calendar" else seat + 1)

    assert (result.status, result.success) == ("graded", False)
    assert {fault["seat"] for fault in result.failure_detail["faults"]} == {seat}
    assert told in " ".join(harness("show", tmp_path / "run", result.task_id).stdout.split())
    answer = Site(Library([tmp_path / "run"])).answer(episode_page("run", result.key))
    assert answer is not None
    assert told in answer.body.decode()
    if name == "calendar":
        table = harness("report", tmp_path / "run", "--table", "failures").stdout
        (mine,) = re.findall(r"  voice +\d.*", table)
        (others,) = re.findall(r"  truthful-planner +\d.*", table)
        assert re.search(r"%\) +-$", mine), table
        assert re.search(r"  -  .*%\)$", others), table


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, seat: int, voice: str) -> Result:
    """Return the result of a recorded game with a voice at one seat."""
    table = TABLES[name]
    family = import_module(f"parley.families.{table.task.family.replace('-', '_')}.seats")
    make = family.PLAYERS[table.others]

    def sit(task: Task, number: int, session: Mapping[str, Any]) -> SeatPlayer:
        return Voiced(make(task, number, session), AtDecisions(VOICES[voice]))

    monkeypatch.setattr(family, "PLAYERS", {**family.PLAYERS, "voice": sit})
    spec = AgentSpec(kind="seats", name=table.others, seats=(SeatSpec(seat=seat, kind="policy", name="voice"),))
    options = {option: str(value) for option, value in table.options.items()}
    plan = Plan("run", [table.task], [0], 1, spec, overrides=options)
    (result,) = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=lambda event: None)
    return result
