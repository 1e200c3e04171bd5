"""The certificate of a scenario, as `oracle.json` holds it: checks, grade, who learns what when, and what groups must score.

Chances are floats for readers, made from exact ones at the last moment. Keys come in this order: identity, checks, the table
(facts in the file's order, each with weights, options that its literals help to exclude, and what is excluded and believed once
it and all before it are known), leave-one-out, hands, groups, coin, guessers, knobs. With more base atoms than a table of
worlds holds, the solver proves instead, and what only weighing or playing can say is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any

from oracles.hidden_profile import expected, forward
from oracles.hidden_profile.groups import UNIFORM
from oracles.hidden_profile.guessers import scored
from oracles.hidden_profile.logic import Exhaustive, Logic
from oracles.hidden_profile.prover import Proof, everything, prove
from oracles.hidden_profile.second import witness
from worlds.hidden_profile.rules import scores
from worlds.hidden_profile.rules.certificate import Accuracy, Certificate, CoinRow, FactRow, LeftOut
from worlds.hidden_profile.rules.frame import atom_of
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import WorldTable

QS = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(1))
"""Chances of disclosure that a certificate tells the accuracy of."""

GROUPS = (*UNIFORM, "withhold", "one_liar")


def certify(scenario: Scenario) -> Certificate:
    """The certificate, certified or not: `certified` says which. Where there is no logic no check is asked, nor would fail."""
    if not scenario.has_logic:
        hands = {str(seat): scenario.hand(seat) for seat in scenario.seats}
        return Certificate(scenario=scenario.id, certified=False, hands=hands, guessers=scored(scenario))
    logic = witness(scenario)
    proof = prove(scenario, logic)
    proved: dict[str, Any] = {
        "scenario": scenario.id,
        "certified": proof.certified,
        "grade": proof.grade,
        "lucky": proof.lucky,
        "witness": "worlds" if isinstance(logic, Exhaustive) else "solver",
        "checks": proof.checks,
        "table": table(logic),
        "leave_one_out": leave_one_out(logic),
        "hands": {str(seat): scenario.hand(seat) for seat in scenario.seats},
    }
    if isinstance(logic, Exhaustive):
        proved |= {"groups": _groups(logic.table, proof), "coin": _coin(logic.table, proof)}
    return Certificate(**proved, guessers=scored(scenario), knobs=knobs(scenario, logic))


def table(logic: Logic) -> tuple[FactRow, ...]:
    """The elimination table: shared facts, then private ones, each added to all before it."""
    scenario = logic.scenario
    order = [*scenario.of_scope("shared"), *scenario.of_scope("private")]
    return tuple(
        FactRow(
            fact=fact,
            weights=dict(scenario.by_id[fact].weights),
            helps_exclude=tuple(sorted(_touched(scenario, fact))),
            excluded=tuple(sorted(logic.excluded(order[: place + 1]))),
            belief=_shown(logic, order[: place + 1]),
        )
        for place, fact in enumerate(order)
    )


def leave_one_out(logic: Logic) -> dict[str, LeftOut]:
    """For each private fact, what all the others lead to."""
    scenario = logic.scenario
    without = {}
    for fact in scenario.of_scope("private"):
        known = everything(scenario, [fact])
        belief = _shown(logic, known)
        without[fact] = LeftOut(
            belief=belief[scenario.key] if belief else None,
            eliminator=scores.eliminate(scores.surface(scenario, known), logic.excluded(known)),
            listener=scores.listener(logic.table, known) if isinstance(logic, Exhaustive) else None,
        )
    return without


def knobs(scenario: Scenario, logic: Logic) -> dict[str, Any]:
    """What makes a scenario hard, counted (specification, 2.4, last paragraph)."""
    private, noise = ([scenario.by_id[one] for one in scenario.of_scope(scope)] for scope in ("private", "noise"))
    shared = scenario.of_scope("shared")
    score = scores.surface(scenario, shared)
    belief = _shown(logic, shared)
    return {
        "agents": scenario.agents,
        "options": len(scenario.options),
        "key_position": scenario.option_ids.index(scenario.key),
        "base_atoms": len(scenario.base),
        "clause_width": max((len(rule.when) for rule in scenario.rules if rule.out not in {None, scenario.key}), default=0),
        "chain_depth": _depth(scenario),
        "clues_per_seat": [sum(seat in fact.holders for fact in private) for seat in scenario.seats],
        "overlap": sum(len(fact.holders) > 1 for fact in private),
        "noise_per_seat": [sum(seat in fact.holders for fact in noise) for seat in scenario.seats],
        "surface_margin": scenario.decoy and _margin(score, scenario.decoy),
        "belief_margin": belief and scenario.decoy and _margin(belief, scenario.decoy),
    }


def _touched(scenario: Scenario, fact: str) -> set[str]:
    """The options against which a rule has a literal that this fact brings about, by itself."""
    literals = forward.closed(scenario, [fact])
    return {rule.out for rule in scenario.rules if rule.out is not None and literals.intersection(rule.when)}


def _shown(logic: Logic, known: Collection[str]) -> dict[str, float] | None:
    belief = logic.belief(known)
    return None if belief is None else {option: float(chance) for option, chance in belief.items()}


def _margin(points: dict[str, Any], option: str) -> Any:
    return points[option] - max(value for one, value in points.items() if one != option)


def _depth(scenario: Scenario) -> int:
    """The most rules in a row from a base atom to a derived one."""
    depth = dict.fromkeys(scenario.base, 0)
    for name in scenario.derived:
        rules = [rule for rule in scenario.rules if rule.then == name]
        depth[name] = 1 + max((depth[atom_of(one)] for rule in rules for one in rule.when), default=0)
    return max(depth.values(), default=0)


def _groups(table_: WorldTable, proof: Proof) -> dict[str, Accuracy]:
    return {name: _scores(expected.played(table_, name), expected.formula(table_.scenario, proof, name)) for name in GROUPS} | {
        "random": Accuracy(average=float(expected.guessing(table_.scenario)))
    }


def _coin(table_: WorldTable, proof: Proof) -> tuple[CoinRow, ...]:
    return tuple(
        CoinRow(
            q=float(q),
            eliminator=_scores(expected.coin(table_, q), expected.coin_formula(table_.scenario, proof, q)),
            listener=_scores(expected.coin(table_, q, scores.listener), None),
        )
        for q in QS
    )


def _scores(enumerated: expected.Scores, formula: expected.Scores | None) -> Accuracy:
    """Accuracies, and which of them a formula gives; raises AssertionError where formula and enumeration differ."""
    by_formula: list[str] = []
    shown: dict[str, float] = {}
    for name in ("average", "majority", "grounded"):
        value, claimed = getattr(enumerated, name), getattr(formula, name, None)
        assert claimed in {None, value}, f"{name}: enumerated {value}, by formula {claimed}"
        shown[name] = float(value)
        by_formula += [name] if claimed is not None else []
    return Accuracy(**shown, by_formula=tuple(by_formula))
