"""Random skeletons: what the search certifies is certified by both witnesses, graded right and spoiled in eight ways."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from oracles.hidden_profile.certificate import certify
from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.skeletons import Shape, search, widths
from oracles.hidden_profile.witnesses import disagreements
from tests.hidden_profile.film import Listed, subsets
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.scores import belief, eliminator, entails
from worlds.hidden_profile.rules.worlds import tabulate

pytestmark = pytest.mark.property

CASES = 40


def shape(draw: random.Random) -> Shape:
    """Two or three clauses of one to three atoms, the decoy's of two at least; now and then through a chain."""
    plain = widths(draw.randint(2, 3), *(draw.randint(1, 2) for _ in range(draw.randint(1, 2))), negated=draw.random() < 0.3)
    if draw.random() < 0.5:
        return plain
    first, *rest = plain.clauses
    return Shape((("d1", *first[1:]), *rest), (((first[0],), "d1"),), doubted=draw.random() < 0.5)


def found(seed: int) -> Scenario | None:
    """A certified scenario of a random shape and size, not always the first; None where there is none."""
    draw = random.Random(seed)
    return next(islice(search(shape(draw), draw.randint(3, 8), draw.choice(("A", "B"))), draw.randint(0, 3), None), None)


@pytest.mark.parametrize("seed", range(CASES))
def test_random_skeleton(seed: int) -> None:
    """Whatever is certified has every property that a certificate claims, by listing worlds and subsets plainly."""
    scenario = found(seed)
    if scenario is None:
        return
    proof, table, listed = prove(scenario), tabulate(scenario), Listed(scenario)
    shared, private = scenario.of_scope("shared"), scenario.of_scope("private")
    lucky = False
    for known in subsets(private):
        facts = (*shared, *known)
        chances, plain = belief(table, facts), listed.belief(facts)
        assert chances is not None
        assert plain is not None
        assert all(abs(float(chances[one]) - plain[one]) < 1e-12 for one in chances)
        assert entails(table, facts) == (known == private)
        lucky |= eliminator(table, facts) == scenario.key and known != private

    assert proof.grade == ("B" if lucky else "A")
    assert certify(scenario).document()["certified"]
    for one in (scenario, *(mutant.scenario for mutant in mutants(scenario))):
        assert disagreements(one) == []
    assert all(mutant.check in prove(mutant.scenario).failed for mutant in mutants(scenario))


def test_most_random_shapes_have_a_skeleton() -> None:
    """The cases above are not empty: most seeds give a scenario, of both grades and many sizes."""
    made = [one for one in map(found, range(CASES)) if one is not None]

    assert len(made) > CASES / 2
    assert {prove(one).grade for one in made} == {"A", "B"}
    assert len({(one.agents, len(one.options)) for one in made}) > 6
