"""The natural edition: the same deal with a brief that tells no rule."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.worlds.hidden_profile.sessions import notes, opened
from worlds.core.errors import WorldError

TASK = Path("tasks/hidden-profile/ferry-overheats/environment/api")
UNTOLD = "The ferry runs hot, and the three of you can mend one thing. What is cleared by what is known is in good order."


def natural(folder: Path) -> Path:
    """The task with a brief that tells no rule."""
    copied = shutil.copytree(TASK, folder / "task")
    path = copied / "scenario.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"untold": UNTOLD}), encoding="utf-8")
    return copied


def test_only_the_brief_differs(tmp_path: Path) -> None:
    """Deal, hands, facts and rules of the log are those of the edition with rules, and the seats read the other brief."""
    task = natural(tmp_path)
    told, untold = (notes(opened(task, 3, rules=rules), "session_start")[0].data for rules in ("told", "untold"))

    assert untold["scenario"]["brief"] == UNTOLD
    assert {**untold, "scenario": {**untold["scenario"], "brief": told["scenario"]["brief"]}} == told
    assert UNTOLD in opened(task, 3, rules="untold").systems()[0]


def test_a_deck_without_such_a_brief_says_so(tmp_path: Path) -> None:
    """And names the preset of those that have one."""
    with pytest.raises(WorldError, match="has no brief without rules; play those that have one: --preset hidden-natural"):
        opened(TASK, 3, rules="untold")
