"""IMAP in profile `paper` plays the games that the reference implementation played."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.protocols.imap import Imap
from tests.oracles.calendar.reference_cases import cases, game_of, losses, play, published

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("cap", [15, 4])
def test_imap_equals_every_recorded_game(reference: Path, cap: int) -> None:
    """Meetings scheduled, slots, costs and messages of each seat are the recorded ones in all games."""
    checked = 0
    for case in cases(reference):
        played = game_of(play(case.scenario, published(cap), Imap))
        assert not case.recorded("IMAP", cap).differences(played), case.name
        checked += 1
    assert checked == 72


def test_imap_loses_the_privacy_that_was_recorded(reference: Path) -> None:
    """What the messages give away, computed here by the published rule, is the recorded loss of each seat."""
    for case in cases(reference):
        found = losses(play(case.scenario, published(15), Imap), _evidence)
        assert found == pytest.approx(case.vps("IMAP", 15), abs=1e-5), case.name


def _evidence(payload: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    if payload["type"] == "costs":
        known = set(asked["slots"])
        costs = {int(slot): cost for slot, cost in payload["costs"].items()}
        return {slot: (0.0 if cost is None else 1.0, 1.0) for slot, cost in costs.items() if slot in known}
    return {payload["slot"]: (1.0, 1.0)} if payload["type"] == "decision" else {}
