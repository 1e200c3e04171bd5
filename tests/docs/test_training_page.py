"""What docs/training.md shows works as it stands: each of its programs runs by itself, to its end."""

from __future__ import annotations

import re
from typing import Any

import pytest

from harness.paths import ROOT

pytestmark = pytest.mark.property

PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_run(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A reader who pastes one sees rewards, and no error."""
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(PROGRAMS[number], f"training.md, program {number + 1}", "exec"), names)  # the page is ours
    printed = capsys.readouterr().out

    assert re.search(r"\d\.\d", printed)


def test_the_page_shows_each_way() -> None:
    """Plain, Gymnasium, PettingZoo, a batch."""
    assert len(PROGRAMS) == 4
    assert [word in PAGE for word in ("gymnasium.Env", "pettingzoo.AECEnv", "judged(batch)")] == [True] * 3
