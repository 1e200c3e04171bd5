"""What scripted groups must score, exactly: by formula where there is one, and by playing every case in any event.

Formulas hold for certified scenarios (specification, 2.5). A seat is grounded once it has every private fact, because no proper
subset proves the key; on grade A nothing else votes the key, so accuracy and grounded accuracy are one. On grade B a vote can
be lucky, and only enumeration tells: 2^N patterns of disclosure for `coin(q)`, one session for every other group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from oracles.hidden_profile.groups import group
from oracles.hidden_profile.prover import Proof
from oracles.hidden_profile.session import play
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.scores import contrarian, eliminator, entails, second_best
from worlds.hidden_profile.rules.worlds import WorldTable

Rule = Callable[[WorldTable, Iterable[str]], str | None]
"""How a seat votes on what it knows: `scores.eliminator` or `scores.listener`."""

NO, YES = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Scores:
    """Expected accuracies; None where no formula is known."""

    average: Fraction | None
    majority: Fraction | None
    grounded: Fraction | None


def coin(table: WorldTable, q: Fraction, rule: Rule = eliminator) -> Scores:
    """Expected accuracies where each seat discloses its whole hand with chance q, over all patterns of disclosure."""
    scenario = table.scenario
    shared = frozenset(scenario.of_scope("shared"))
    hands = [frozenset(scenario.hand(seat)) for seat in scenario.seats]
    average = majority = grounded = NO
    for pattern in product((False, True), repeat=scenario.agents):
        chance = q ** sum(pattern) * (1 - q) ** (scenario.agents - sum(pattern))
        if not chance:
            continue
        told = shared.union(*(hand for hand, discloses in zip(hands, pattern, strict=True) if discloses))
        known = [told | hand for hand in hands]
        right = [rule(table, facts) == scenario.key for facts in known]
        sound = [hit and entails(table, facts) for hit, facts in zip(right, known, strict=True)]
        average += chance * Fraction(sum(right), len(right))
        majority += chance * (2 * sum(right) > len(right))
        grounded += chance * Fraction(sum(sound), len(sound))
    return Scores(average, majority, grounded)


def coin_formula(scenario: Scenario, proof: Proof, q: Fraction) -> Scores | None:
    """The closed form of `coin` on a certified scenario; None unless every seat holds exactly one private fact, its alone."""
    if not proof.certified or not _one_each(scenario):
        return None
    alone = q ** (scenario.agents - 1)
    if proof.grade == "A":
        return Scores(alone, q**scenario.agents, alone)
    return Scores(None, None, alone)


def played(table: WorldTable, name: str) -> Scores:
    """The accuracies of a group, by playing it; raises KeyError for a name that is none."""
    session = play(table, group(name, table.scenario.agents))
    return Scores(session.average, Fraction(session.majority), session.grounded)


def formula(scenario: Scenario, proof: Proof, name: str) -> Scores | None:
    """The closed form of a group on a certified scenario; None where there is none."""
    if not proof.certified:
        return None
    if name == "pool":
        return Scores(YES, YES, YES)
    if name in {"silent", "shared", "conform", "liar", "follow"}:
        return Scores(NO, NO, NO)
    if name in {"contra", "reject"}:
        return _contrary(scenario, contrarian if name == "contra" else second_best)
    if name in {"withhold", "one_liar"}:
        return _one_keeps_back(scenario, proof, lies=name == "one_liar")
    return None


def guessing(scenario: Scenario) -> Fraction:
    """The accuracy of a vote at random."""
    return Fraction(1, len(scenario.options))


def _contrary(scenario: Scenario, vote: Callable[[Scenario, Iterable[str]], str | None]) -> Scores:
    """The seats whose hand alone makes them vote the key; no hand proves anything, so none of them is grounded."""
    shared = scenario.of_scope("shared")
    right = sum(vote(scenario, (*shared, *scenario.hand(seat))) == scenario.key for seat in scenario.seats)
    return Scores(Fraction(right, scenario.agents), Fraction(2 * right > scenario.agents), NO)


def _one_keeps_back(scenario: Scenario, proof: Proof, *, lies: bool) -> Scores | None:
    """Seat 1 keeps its hand back: it alone hears everything, the others lack what nobody else holds; a liar is wrong anyway."""
    own = Fraction(0 if lies else 1, scenario.agents)
    missed = any(scenario.by_id[fact].scope == "private" and scenario.by_id[fact].holders == (1,) for fact in scenario.hand(1))
    if not missed:
        rest = Fraction(scenario.agents - 1, scenario.agents)
        return Scores(own + rest, YES, own + rest)
    return Scores(own, NO, own) if proof.grade == "A" else Scores(None, None, own)


def _one_each(scenario: Scenario) -> bool:
    held = [scenario.by_id[fact].holders for fact in scenario.of_scope("private")]
    return sorted(held) == [(seat,) for seat in scenario.seats]
