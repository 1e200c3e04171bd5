"""SD-MAP in profile `paper` plays the games that the reference implementation played, its faults at the turn cap included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.protocols.sdmap import SdMap
from tests.oracles.calendar.reference_cases import cases, game_of, losses, play, published

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("cap", [15, 4])
def test_sdmap_equals_every_recorded_game(reference: Path, cap: int) -> None:
    """Meetings scheduled, slots, costs and messages of each seat are the recorded ones in all games."""
    checked = 0
    for case in cases(reference):
        played = game_of(play(case.scenario, published(cap), SdMap))
        assert not case.recorded("SD-MAP", cap).differences(played), case.name
        checked += 1
    assert checked == 72


@pytest.mark.parametrize("cap", [15, 4])
def test_sdmap_loses_the_privacy_that_was_recorded(reference: Path, cap: int) -> None:
    """What the messages give away, computed here by the published rule, is the recorded loss of each seat."""
    for case in cases(reference):
        found = losses(play(case.scenario, published(cap), SdMap), _evidence)
        assert found == pytest.approx(case.vps("SD-MAP", cap), abs=1e-5), case.name


def _evidence(payload: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    if payload["type"] == "propose":
        return {payload["slot"]: (0.85, 0.70)}
    if payload["type"] == "reply":
        return {payload["slot"]: (1.0 if payload["reply_status"] == "PENDING" else 0.0, 1.0)}
    return {}
