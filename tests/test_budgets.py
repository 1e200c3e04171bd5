"""The size of our own code, and what each command loads of it, stay within their budgets (benchmarks/house.py)."""

from __future__ import annotations

import runpy

import pytest

from harness.paths import ROOT


@pytest.mark.property
def test_no_figure_is_above_its_budget() -> None:
    """Lines, modules, words and distributions, and the lines that five commands load."""
    house = runpy.run_path(str(ROOT / "benchmarks" / "house.py"))
    made, sizes = house["figures"](), house["sizes"]()

    assert {load.name: made[load.name] for load in house["LOADS"] if made[load.name] > load.budget} == {}
    assert {name: value for name, (value, budget, _) in sizes.items() if value > budget} == {}
