"""Do the two witnesses say the same? Check by check, grade, beliefs; what they differ on comes back as sentences.

Where the solver does not weigh worlds (`second.COUNT_LIMIT`), checks that ask for beliefs can differ, and are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from oracles.hidden_profile.logic import Exhaustive
from oracles.hidden_profile.prover import Proof, everything, prove
from oracles.hidden_profile.second import Solver
from worlds.hidden_profile.rules.scenario import Scenario

_WEIGHED = {"C2a", "C2b", "C2c", "C4"}
"""Checks that ask for beliefs."""


def disagreements(scenario: Scenario) -> list[str]:
    """What table and solver say differently of a scenario small enough for both; empty where they agree.

    Raises ValueError where the scenario has too many atoms for a table.
    """
    table, solver = Exhaustive(scenario), Solver(scenario)
    first, second = prove(scenario, table), prove(scenario, solver)
    return [*_checks(first, second, counts=solver.counts), *(_beliefs(table, solver) if solver.counts else ())]


def _checks(first: Proof, second: Proof, *, counts: bool) -> Iterator[str]:
    for one, other in zip(first.checks, second.checks, strict=True):
        if one.detail != other.detail and (counts or one.name not in _WEIGHED):
            yield f"{one.name}: '{one.detail}' and '{other.detail}'"
    if None not in {first.grade, second.grade} and first.grade != second.grade:
        yield f"grade {first.grade} and {second.grade}"


def _beliefs(table: Exhaustive, solver: Solver) -> Iterator[str]:
    """Shared facts, each whole hand, and all private facts with each one left out."""
    scenario = table.scenario
    shared = scenario.of_scope("shared")
    hands = [(*shared, *scenario.hand(seat)) for seat in scenario.seats]
    rest = [everything(scenario, [fact]) for fact in scenario.of_scope("private")]
    for known in (shared, *hands, *rest, everything(scenario)):
        if table.belief(known) != solver.belief(known):
            yield f"beliefs with {', '.join(known)}"
