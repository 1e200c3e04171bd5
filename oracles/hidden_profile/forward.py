"""Can what follows be said step by step? Rules are fired on what was asserted, and on nothing else, until none fires.

That is how people argue aloud: this holds and that holds, so this option is out. It finds nothing that worlds refute, but it
can miss what only shows by cases (one rule for an atom, one for its negation) or backwards (a derived atom asserted outright).
Where it agrees with the worlds on every subset of the facts, no exclusion needs more than saying facts and rules in a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from oracles.hidden_profile.logic import Logic
from worlds.hidden_profile.rules.scenario import Scenario

EVERY = 10
"""Private facts up to which every subset is tried; beyond, those of two at most and those that lack two at most."""


def closed(scenario: Scenario, known: Iterable[str]) -> frozenset[str]:
    """The literals that the facts assert and those that rules make of them."""
    literals = {literal for fact in known for literal in scenario.by_id[fact].asserts}
    waiting = [rule for rule in scenario.rules if rule.then is not None]
    while ready := [rule for rule in waiting if literals.issuperset(rule.when)]:
        literals.update(rule.then for rule in ready if rule.then is not None)
        waiting = [rule for rule in waiting if rule not in ready]
    return frozenset(literals)


def excluded(scenario: Scenario, known: Iterable[str]) -> frozenset[str]:
    """The options that a rule puts out once rules have been fired in a row."""
    literals = closed(scenario, known)
    return frozenset(rule.out for rule in scenario.rules if rule.out is not None and literals.issuperset(rule.when))


def disagreement(logic: Logic) -> tuple[str, ...] | None:
    """The first set of facts on which this and the worlds differ, beyond what is shared; None where there is none.

    A set that contradicts itself is no disagreement: there is nothing to agree on.
    """
    scenario = logic.scenario
    shared = scenario.of_scope("shared")
    for known in _sets(scenario.of_scope("private")):
        facts = (*shared, *known)
        if excluded(scenario, facts) != logic.excluded(facts) and logic.consistent(facts):
            return known
    return None


def _sets(facts: Collection[str]) -> Iterator[tuple[str, ...]]:
    count = len(facts)
    every = range(count + 1)
    for size in every if count <= EVERY else (*every[:3], *every[-3:]):
        yield from combinations(facts, size)
