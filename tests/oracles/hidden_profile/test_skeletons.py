"""The skeleton search finds a certified deck of each shape for each number of people that the shape names."""

from __future__ import annotations

import pytest

from oracles.hidden_profile.dealing import SHAPES, search_decks
from oracles.hidden_profile.deck_mutants import make_deck_mutants
from oracles.hidden_profile.decks import prove_deck
from oracles.hidden_profile.second import FrameSolver
from worlds.hidden_profile.rules.deck import Draws

pytestmark = pytest.mark.property

EVERY = [(name, people) for name, shape in SHAPES.items() for people in shape.people]


@pytest.mark.parametrize(("name", "people"), EVERY)
def test_search_finds_each_shape(name: str, people: int) -> None:
    """Certified, with several impressions, an option for each gate, and something private on every hand."""
    found = search_decks(name, people)

    assert len(found) > 2
    for deck in found:
        assert prove_deck(deck).failed_checks == ()
        assert (deck.agents, deck.mechanism, len(deck.options)) == (people, name, len(SHAPES[name].gates))
        assert all(any(seat in card.holders for card in deck.of_scope("private")) for seat in deck.seats)
        assert {draw.leader for draw in Draws(deck).all} == {"o1"}


@pytest.mark.parametrize("name", ["match", "chain", "and, match"])
def test_both_witnesses_certify_and_mutants_are_refused(name: str) -> None:
    """The solver says what the table says, and each way to spoil the deck fails the check that it names."""
    deck = search_decks(name, SHAPES[name].people[0])[0]

    assert prove_deck(deck, FrameSolver(deck)) == prove_deck(deck)
    assert [
        mutant.name for mutant in make_deck_mutants(deck) if mutant.check not in prove_deck(mutant.deck).failed_checks
    ] == []


def test_search_repeats_itself() -> None:
    """Asked again, a question has its answers in the same order, and no two alike."""
    first = [one.to_json() for one in search_decks("match", 4)]
    search_decks.cache_clear()

    assert [one.to_json() for one in search_decks("match", 4)] == first
    assert len(set(first)) == len(first)


def test_search_ends_empty_where_there_is_nothing() -> None:
    """Seven cards cannot be handed to five people so that four of them are needed in each deal, whoever holds what twice."""
    assert 5 not in SHAPES["and, match"].people
    assert search_decks("and, match", 5) == ()
