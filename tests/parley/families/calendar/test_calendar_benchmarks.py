"""The benchmarks of calendar games still play: each part that they time, on one small game."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.registry import read_task
from validators.calendar.replay import replay
from validators.episode import Episode
from worlds.core.events import read_log


def test_every_part_of_a_game_is_timed() -> None:
    """Sixty turns of IMAP by the rules alone, with policies, over requests in process, and judged."""
    names = runpy.run_path(str(ROOT / "benchmarks" / "calendar_games.py"))

    turns, *milliseconds = names["_timed"](read_task(ROOT / "tasks" / "calendar" / "uniform-31"), "imap")

    assert turns == 60
    assert len(milliseconds) == 4
    assert milliseconds[-1] > 0


@pytest.mark.parametrize("protocol", ["imap", "dsm-welfare"])
def test_the_game_whose_vps_is_timed_is_played(tmp_path: Path, protocol: str) -> None:
    """It is a whole game, in which the rules contradict nothing and something is told."""
    names = runpy.run_path(str(ROOT / "benchmarks" / "vps.py"))

    game = replay(Episode(tuple(read_log(names["log_of"](tmp_path, names["scenario"](), protocol)))))

    assert game.finished
    assert game.messages
    assert game.lies == ()
