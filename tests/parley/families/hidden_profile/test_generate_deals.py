"""`harness generate deals` as an author types it: a deck without deals gets them, and what fails is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.errors import GateFailed, UsageError
from harness.paths import ROOT
from parley.families.hidden_profile.commands.generate import generate_deals
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import CUES

DECK = ROOT / "tasks" / "hidden-profile" / "evacuation-dusk" / "environment" / "api"


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A shipped deck as its author had it, before there were deals; the cues stand beside it."""
    for name in (SCENARIO, CUES):
        shutil.copy(DECK / name, tmp_path / name)
    return rewritten(tmp_path / SCENARIO, lambda document: document.pop("deals"))


def generate(*words: object) -> Result:
    """`harness generate deals` with these words, in this process: where other tests have loaded the solver it is quick."""
    app = typer.Typer()
    app.command()(generate_deals)
    return CliRunner().invoke(app, [*map(str, words)], obj={"tasks": None})


def rewritten(path: Path, change: Any) -> Path:
    """The file with its document changed."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.property
def test_a_deck_gets_its_deals(draft: Path) -> None:
    """All checks hold, C6 by the cues beside the file; the file is that of the suite again, without its cues."""
    done = generate(draft)

    assert done.exit_code == 0, done.output
    assert "certified" in done.stderr
    assert "NO" not in done.stdout.split()
    assert draft.read_text(encoding="utf-8") == (DECK / SCENARIO).read_text(encoding="utf-8")


@pytest.mark.property
def test_a_deck_is_checked_as_it_is(draft: Path) -> None:
    """With --keep nothing is written, what fails is named, and cues that are of no text of the deck are an error."""
    shutil.copy(DECK / SCENARIO, draft)
    (draft.parent / CUES).write_text("{}", encoding="utf-8")
    deaf = generate(draft, "--keep", "--json")
    (draft.parent / CUES).write_text('{"u99_t0": [["x"]]}', encoding="utf-8")
    wrong = generate(draft, "--keep")

    assert [one["name"] for one in json.loads(deaf.stdout)["checks"] if not one["ok"]] == ["C6"]
    assert isinstance(deaf.exception, GateFailed)
    assert draft.read_bytes() == (DECK / SCENARIO).read_bytes()
    assert isinstance(wrong.exception, UsageError)
    assert "u99_t0 is no text of the deck" in str(wrong.exception)
