"""DSM in profile `paper` against the reference implementation's games: slots, costs, messages, and privacy loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.protocols.dsm import dsm_private, dsm_welfare
from tests.oracles.calendar.reference_cases import cases, game_of, losses, play, published

pytestmark = pytest.mark.reference

CLIENTS = {"DSM-welfare": dsm_welfare, "DSM-private": dsm_private}


def evidence(payload: Mapping[str, Any], asked: Mapping[str, Any]) -> Mapping[int, tuple[float, float]]:
    """Slot -> (e, a) of one message (paper, Table 10); of several plans for a slot the last one counts."""
    if payload["type"] == "proposals":
        return {plan["slot"]: (1.0, 1.0) for plan in payload["plans"]}
    if payload["type"] == "decision":
        return {payload["slot"]: (1.0, 1.0)}
    slots = {str(plan["id"]): plan["slot"] for plan in asked["plans"]}
    return {slots[plan]: (score / 11, 1.0) for plan, score in payload["scores"].items()}


@pytest.mark.parametrize("cap", [15, 4])
@pytest.mark.parametrize("name", CLIENTS)
def test_dsm_games_equal_the_recorded_ones(reference: Path, name: str, cap: int) -> None:
    """Every recorded game comes out the same: meetings scheduled, slots, each seat's cost, messages and loss."""
    found = {}
    for case in cases(reference):
        played = play(case.scenario, published(cap), CLIENTS[name])
        differences = game_of(played).differences(case.recorded(name, cap))
        if losses(played, evidence) != pytest.approx(case.vps(name, cap), abs=2e-6):
            differences.append("privacy loss")
        found[case.name, case.suite] = differences

    assert len(found) == 72
    assert {case: differences for case, differences in found.items() if differences} == {}
