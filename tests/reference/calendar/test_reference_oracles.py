"""All 72 published tasks: optimum, worst, counts, ranges and tie-broken schedules are those recorded for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar import cpsat
from oracles.calendar.certificate import certify, plan_batches
from oracles.calendar.problem import build_problem
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario

pytestmark = pytest.mark.reference

RECORDED = {
    "optimum": "exact_optimal_cost",
    "worst": "exact_worst_cost",
    "feasible": "F",
    "total": "F_total",
    "difficulty": "fraction",
    "optima": "num_optimal_assignments",
    "ranges": "per_agent_cost_range_over_optima",
    "assignment": "exact_lex_assignment",
    "per_agent": "exact_lex_per_agent",
    "worst_per_agent": "exact_worst_lex_per_agent",
}
"""Our name -> the name in games.json."""


def scenario_of(row: Mapping[str, Any]) -> Scenario:
    """A published row, on its one scale."""
    errands = tuple(
        tuple(
            Errand(slot=slot, id=cell["errand_id"], cost=cell["cost"], blocked=cell.get("blocked", False))
            for slot, cell in enumerate(cells)
            if cell
        )
        for cells in row["calendars"]
    )
    meetings = tuple(Meeting(id=one["id"], participants=one["participants"], cost=one["cost"]) for one in row["meetings"])
    witness = {int(number): slot for number, slot in row["witness_solution"]["assignments"].items()}
    return Scenario(slots=row["params"]["num_slots"], errands=errands, meetings=meetings, witness=witness)


def rows_of(reference: Path) -> list[dict[str, Any]]:
    """The published rows."""
    return [json.loads(line) for line in (reference / "calbench" / "tasks.jsonl").read_text().splitlines()]


def test_certificates_are_the_recorded_ones(reference: Path) -> None:
    """Every recorded figure of every task is ours, and the stored optima are confirmed."""
    rows, games = rows_of(reference), json.loads((reference / "calbench" / "games.json").read_text())["tasks"]
    wrong = []
    for row in rows:
        certificate, facts = certify(scenario_of(row)).document(), games[row["task_id"]]
        recorded = {ours: facts[theirs] for ours, theirs in RECORDED.items()}
        mine = {ours: certificate[ours] for ours in RECORDED}
        same = mine == recorded and certificate["witness"]["cost"] <= certificate["worst"]
        if not same or certificate["optimum"] != row["optimal"]["cost"]:
            wrong.append(row["task_id"])

    assert len(rows) == 72
    assert wrong == []


def test_oracle_of_scheduled_subsets_is_the_recorded_one(reference: Path) -> None:
    """For each recorded game the entry of the meetings that it scheduled is the oracle recorded for it."""
    games = json.loads((reference / "calbench" / "games.json").read_text())["tasks"]
    checked = 0
    for row in rows_of(reference):
        subsets = certify(scenario_of(row)).document()["by_subset"]
        for game in games[row["task_id"]]["protocols"].values():
            entry = subsets[",".join(map(str, sorted(game["scheduled"])))]
            assert (entry["optimum"], entry["per_agent"]) == (game["oracle_sched_cost"], game["oracle_sched_direct"])
            checked += len(game["scheduled"]) < 5

    assert checked > 100


def test_solver_confirms_the_published_tasks(reference: Path) -> None:
    """CP-SAT finds the same tie-broken optimum on every task, and it can be planned."""
    for row in rows_of(reference):
        scenario = scenario_of(row)
        certificate, found = certify(scenario).document(), cpsat.find_optimum(build_problem(scenario))
        assert found is not None
        assert (found.cost, list(found.slots)) == (certificate["optimum"], list(certificate["assignment"].values()))
        assert len(plan_batches(scenario, {int(number): slot for number, slot in certificate["assignment"].items()})) == 5
