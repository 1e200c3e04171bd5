"""The FAQ's figures of scripted players are what its own commands come to."""

from __future__ import annotations

import json
import re

import pytest

from harness.paths import ROOT
from tests.docs.conftest import Reader
from tests.docs.pages import commands

pytestmark = pytest.mark.property

PAGE = ROOT / "docs/faq.md"
FAMILIES = ("contract", "calendar", "hidden-profile")
PLAYERS = re.compile(r"^\| ([^|]*(?:oracle|nop|`)[^|]*) \| *([\d.]*) \| *([\d.]*) \| *([\d.]*) \|$", re.MULTILINE)


def shown() -> dict[str, list[str]]:
    """Player -> its figures on the page, by family; a row may name two players, by their names in backquotes."""
    rows = PLAYERS.findall(PAGE.read_text(encoding="utf-8"))
    return {name: figures for who, *figures in rows for name in re.findall(r"`([a-z-]+)`", who) or [who.partition(":")[0]]}


def test_figures_of_scripted_players(reader: Reader) -> None:
    """Each row of the table, to a tenth of a percent."""
    lines = [one.text for one in commands() if one.page == PAGE]
    (board,) = (line for line in lines if line.startswith("harness leaderboard runs/reference"))
    for line in (line for line in lines if "--runtime inprocess" in line):
        assert reader.types(line).returncode == 0
    (table,) = json.loads(reader.types(f"{board} --no-published --json").stdout)["tables"]
    made = {
        row["model"]: ["" if row[family] is None else f"{100 * row[family]:.1f}" for family in FAMILIES]
        for row in table["rows"]
    }

    assert made == shown()
    assert len(made) > 8
