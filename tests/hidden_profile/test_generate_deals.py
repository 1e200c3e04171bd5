"""`harness generate deals` as an author types it: a deck without deals gets them, and one on which there are none is told why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Command
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import CUES

DECK = ROOT / "tasks" / "hidden-profile" / "evacuation-dusk" / "environment" / "api"


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A shipped deck as its author had it, before there were deals; the cues stand beside it."""
    for name in (SCENARIO, CUES):
        shutil.copy(DECK / name, tmp_path / name)
    return rewritten(tmp_path / SCENARIO, lambda document: document.pop("deals"))


def rewritten(path: Path, change: Any) -> Path:
    """The file with its document changed."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.property
def test_a_deck_gets_its_deals(harness: Command, draft: Path) -> None:
    """All checks hold, C6 by the cues beside the file; the file is that of the suite again, and its cues stay where they are."""
    done = harness("generate", "deals", draft)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "certified" in done.stderr
    assert "NO" not in done.stdout.split()
    assert draft.read_text(encoding="utf-8") == (DECK / SCENARIO).read_text(encoding="utf-8")


@pytest.mark.property
def test_a_deck_is_checked_as_it_is(harness: Command, draft: Path) -> None:
    """With --keep nothing is written, what fails is named, and cues that are of no text of the deck are an error."""
    shutil.copy(DECK / SCENARIO, draft)
    (draft.parent / CUES).write_text("{}", encoding="utf-8")
    deaf = harness("generate", "deals", draft, "--keep", "--json")
    (draft.parent / CUES).write_text('{"u99_t0": [["x"]]}', encoding="utf-8")
    wrong = harness("generate", "deals", draft, "--keep")

    assert [one["name"] for one in json.loads(deaf.stdout)["checks"] if not one["ok"]] == ["C6"]
    assert deaf.returncode != 0
    assert draft.read_bytes() == (DECK / SCENARIO).read_bytes()
    assert (wrong.returncode, "u99_t0 is no text of the deck" in wrong.stderr) == (2, True)
