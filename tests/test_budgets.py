"""What each command loads of our own code stays within its budget (benchmarks/house.py)."""

from __future__ import annotations

import runpy

import pytest

from tests.source import ROOT


@pytest.mark.property
def test_no_command_loads_more_than_its_budget() -> None:
    """Help, a listing, two plays and a report load no more lines of ours than they may."""
    house = runpy.run_path(str(ROOT / "benchmarks" / "house.py"))
    made = house["figures"]()

    assert {load.name: made[load.name] for load in house["LOADS"] if made[load.name] > load.budget} == {}
