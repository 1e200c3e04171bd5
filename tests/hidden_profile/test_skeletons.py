"""The skeleton search finds certified shapes, of either grade, for groups of every size."""

from __future__ import annotations

from itertools import islice

import pytest

from oracles.hidden_profile.mutants import mutants
from oracles.hidden_profile.prover import prove
from oracles.hidden_profile.skeletons import SHAPES, Shape, search, widths

SEATS = (3, 4, 5, 8)
NARROW = {("3+2", 3), ("3+2", 4)}
"""Shapes and seats for which every deal gives one seat two literals of the decoy's clause of three."""


@pytest.mark.property
@pytest.mark.parametrize("grade", ["A", "B"])
@pytest.mark.parametrize("name", SHAPES)
def test_search_finds_each_shape(name: str, grade: str) -> None:
    """For every named shape and group size the first find is certified, of the grade asked, and its mutants are rejected."""
    for agents in SEATS:
        found = next(search(SHAPES[name], agents, grade), None)
        assert found is not None, (name, agents, grade)
        proof = prove(found)
        assert (proof.certified, proof.grade, found.agents) == (True, grade, agents)
        assert len(found.options) == SHAPES[name].options
        assert all(found.hand(seat) for seat in found.seats)
        assert all(mutant.check in prove(mutant.scenario).failed for mutant in mutants(found))


def test_search_repeats_itself() -> None:
    """Asked again, a question has its answers in the same order."""
    first, second = ([one.to_json() for one in islice(search(SHAPES["2+2"], 4), 5)] for _ in range(2))

    assert first == second
    assert len(set(first)) == 5


def test_search_ends_empty_where_there_is_nothing() -> None:
    """A decoy that one atom puts out cannot survive the hand that has it, so there is no such hidden profile."""
    assert list(search(widths(1, 2), 3)) == []


def test_literals_of_a_chain() -> None:
    """A clause rests on the base literals at the end of its chains, each once, in order."""
    shape = Shape((("d2", "a3"), ("a1", "!a4")), ((("a1",), "d1"), (("d1", "a2"), "d2")))

    assert shape.literals == ("a1", "a2", "a3", "!a4")
    assert shape.options == 3
    assert widths(2, 1, negated=True).clauses == (("a1", "a2"), ("!a3",))
