"""The certificate as a file: its keys, what it says when nothing can be done, and that JSON holds it unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from harness.paths import ROOT
from oracles.calendar.certificate import certify
from tests.worlds.calendar.random_tasks import canonical, small
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

KEYS = (
    *("optimum", "assignment", "prior_moves", "per_agent", "optima", "ranges", "fairest", "worst", "worst_per_agent"),
    *("feasible", "total", "difficulty", "greedy", "myopic", "witness", "shown_optimum", "shown_agrees", "by_subset"),
)

FRESH = """
import json
from oracles.calendar.certificate import certify
from tests.worlds.calendar.random_tasks import canonical
print(json.dumps([certify(canonical(seed)).document() for seed in range(3)]))
"""


def test_json_holds_it() -> None:
    """Keys come in one order, and reading what was written gives the same certificate."""
    certificate = certify(canonical(0)).document()

    assert tuple(certificate) == KEYS
    assert json.loads(json.dumps(certificate)) == certificate


def test_parts_agree_with_each_other() -> None:
    """Costs by agent sum to the totals, bounds lie between best and worst, and d is F by the total."""
    for scenario in map(canonical, range(20)):
        c = certify(scenario).document()
        whole = c["by_subset"]["1,2,3,4,5"]

        assert c["optimum"] == sum(c["per_agent"]) == sum(c["fairest"]["per_agent"]) == whole["optimum"]
        assert c["worst"] == sum(c["worst_per_agent"]) == whole["worst"]
        assert all(low <= mine <= high for mine, (low, high) in zip(c["per_agent"], c["ranges"], strict=True))
        assert all(c["optimum"] <= c[plan]["cost"] <= c["worst"] for plan in ("greedy", "myopic", "witness") if c[plan])
        assert c["difficulty"] == c["feasible"] / c["total"]
        assert len(c["by_subset"]) == 32


def test_bounds_are_bounds_only() -> None:
    """Planning in order of arrival is dearer than the optimum on some tasks, and lowest slots are dearer than cheapest ones."""
    found = [certify(canonical(seed, density=0.8)).document() for seed in range(30)]
    planned = [c for c in found if c["optimum"] is not None and c["greedy"] and c["myopic"]]

    assert any(c["myopic"]["cost"] > c["optimum"] for c in planned)
    assert sum(c["greedy"]["cost"] for c in planned) > sum(c["myopic"]["cost"] for c in planned)


@pytest.mark.property
def test_nothing_to_be_done() -> None:
    """Where no schedule exists what describes one is null and counts are 0; subsets that work still say how."""
    full = tuple(Errand(slot=slot, id=slot + 1, cost=1) for slot in range(3))
    meetings = (Meeting(id=2, participants=(0,)), Meeting(id=1, participants=(1,)))
    for limit in (0, 10**6):
        c = certify(Scenario(slots=3, errands=(full, ()), meetings=meetings, witness={1: 0, 2: 1}), limit=limit).document()
        described = ("optimum", "assignment", "prior_moves", "per_agent", "ranges", "fairest", "worst", "worst_per_agent")

        assert [c[key] for key in (*described, "greedy", "myopic", "shown_optimum", "shown_agrees")] == [None] * 12
        assert (c["optima"], c["feasible"], c["total"], c["difficulty"]) == (0, 0, 6, 0.0)
        assert c["witness"] == {"slots": {"2": 1, "1": 0}, "cost": None}
    some = certify(Scenario(slots=3, errands=(full, ()), meetings=meetings)).document()["by_subset"]
    assert [(name, entry["optimum"]) for name, entry in some.items()] == [("", 0), ("2", None), ("1", 0), ("1,2", None)]


def test_subsets_are_named_in_ascending_order() -> None:
    """Ids are sorted as numbers, whatever the order of arrival."""
    meetings = tuple(Meeting(id=number, participants=(0,)) for number in (10, 9, 2))
    certificate = certify(Scenario(slots=4, errands=((),), meetings=meetings)).document()

    assert set(certificate["by_subset"]) == {"", "2", "9", "10", "2,9", "2,10", "9,10", "2,9,10"}
    assert certificate["assignment"] == {"10": 0, "9": 1, "2": 2}


def test_witness_is_priced_while_prior_meetings_stay() -> None:
    """The generator's schedule costs what lies under it; over a prior meeting it is none, and not given it is left out."""
    scenario = Scenario(
        slots=4,
        errands=((Errand(slot=1, id=1, cost=10),),),
        meetings=(Meeting(id=1, participants=(0,)),),
        prior=(PriorMeeting(id=2, participants=(0,), slot=0),),
        witness={1: 1},
    )

    assert certify(scenario).document()["witness"] == {"slots": {"1": 1}, "cost": 10}
    assert certify(scenario.model_copy(update={"witness": {1: 0}})).document()["witness"]["cost"] is None
    assert certify(scenario.model_copy(update={"witness": {}})).document()["witness"] is None


@pytest.mark.property
def test_large_tasks_are_certified_completely() -> None:
    """Ten agents, 48 slots and twelve meetings: all 4,096 subsets, and the solver, asked alone, says the same of the whole."""
    scenario = canonical(7, agents=10, slots=48, meetings=12, density=0.8)
    certificate = certify(scenario).document()
    alone = certify(scenario, limit=0).document()

    assert len(certificate["by_subset"]) == 4096
    assert certificate["optimum"] > 0
    assert {**certificate, "optima": None, "by_subset": None} == alone


@pytest.mark.property
def test_same_bytes_in_every_process() -> None:
    """Neither the hash seed nor anything else of a process changes a certificate."""
    env = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)}
    made = subprocess.run([sys.executable, "-c", FRESH], check=True, capture_output=True, cwd=ROOT, env=env).stdout

    assert made.decode() == json.dumps([certify(canonical(seed)).document() for seed in range(3)]) + "\n"


def test_difficulty_without_any_room_is_zero() -> None:
    """Meetings that take more slots than a calendar has have no vectors even on empty calendars."""
    meetings = (Meeting(id=1, participants=(0,), duration=3), Meeting(id=2, participants=(1,), duration=2))
    certificate = certify(Scenario(slots=4, errands=((), ()), meetings=meetings)).document()

    assert (certificate["optimum"], certificate["feasible"], certificate["total"], certificate["difficulty"]) == (0, 0, 0, 0.0)


def test_shown_optimum_is_the_optimum_of_a_world_without_a_second_scale() -> None:
    """It is what the same calendars cost when shown costs are the ones that count."""
    for scenario in [canonical(1), *map(small, range(30))]:
        plain = certify(scenario.model_copy(update={"scale": {}})).document()

        assert certify(scenario).document()["shown_optimum"] == plain["shown_optimum"] == plain["optimum"]
