"""What `harness generate calendar` says while it works, and of what it left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from parley.families.calendar.authoring.generator import parameters
from parley.families.calendar.authoring.suite import CandidateTally, custom
from parley.families.calendar.commands import generate
from parley.families.calendar.commands.generate import generate_calendar

SCRIPT = """
import hashlib
from parley.families.calendar.authoring.suite import canonical
from parley.families.calendar.authoring.derived import files
seen = hashlib.sha256()
for made, _ in zip(canonical(), range({count})):
    for text in (made.scenario.to_json().encode(), *files(made.scenario, made.certificate).values()):
        seen.update(text)
print(seen.hexdigest())
"""


def test_a_shape_without_blocked_errands_gets_a_default_and_a_way_to_play(tmp_path: Path) -> None:
    """What the help does not ask for is chosen and said, and so is that the folder is no part of the registry."""
    app = typer.Typer()
    app.command()(generate_calendar)
    shape = ["--agents", "3", "--participants", "2", "--meetings", "2"]
    done = CliRunner().invoke(app, [*shape, "--name", "odd", "--out", str(tmp_path)], obj={"tasks": None})
    told = done.stderr

    assert done.exit_code == 0
    assert "--blocked is not given: 6 at density 1" in told
    assert f"harness run {tmp_path / 'odd-01'} --trust" in told


def test_who_waits_is_told_what_is_computed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A long computation says what it is at, again and again until it ends."""
    monkeypatch.setattr(generate, "SILENCE_S", 0.001)
    tally, told = CandidateTally(doing="x-01: proving candidate 1, of 14 meetings"), ""
    with generate._heartbeat(tally):
        while told.count(tally.doing) < 2:
            told += capsys.readouterr().err

    assert "s so far" in told


def test_what_was_not_counted_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a task with too many meetings the number of optima is not known, and the table has no None."""
    (made,) = custom("plain", parameters(blocked=2, num_meetings=2), 1)
    uncounted = replace(made, certificate=made.certificate.model_copy(update={"optima": None}))
    generate._write([uncounted], tmp_path, CandidateTally(), replace=False, json=False)
    told = capsys.readouterr().out

    assert "not counted" in told
    assert "None" not in told
