"""Check C10: no classifier tells the private cards of the decks, and what would give them away is refused."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from oracles.hidden_profile.registers import (
    MAX_MEAN_AUC,
    SIGNIFICANCE,
    Classifier,
    DeckScore,
    find_telling_looks,
    fit_classifier,
    longest_chance,
    published_classifier,
    score_decks,
)
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import Deck, read_task

FOLDERS = sorted(Path("tasks/hidden-profile").glob("*/environment/api"))
DECKS = [read for folder in FOLDERS if isinstance(read := read_task(folder / SCENARIO), Deck)]


def with_texts(deck: Deck, private: str, other: str) -> Deck:
    """The deck with these words before each private text, and before each other one."""
    document = deck.model_dump(by_alias=True)
    for place, card in enumerate(document["cards"], start=1):
        for number, words in enumerate(card["texts"]):
            lead = private if card["scope"] == "private" else other
            words["text"] = f"{lead} {place * 7919 % 100:02} {number}."
    return Deck.model_validate(document)


@pytest.fixture(scope="module")
def scores() -> tuple[DeckScore, ...]:
    """Every deck, scored by the classifier of the others."""
    return score_decks(DECKS)


@pytest.mark.property
def test_no_classifier_of_the_other_decks_tells_private_cards(scores: tuple[DeckScore, ...]) -> None:
    """The mean AUC over decks is at most .55, and no deck is significant by Holm's procedure."""
    rejected = [one for one in scores if one.chance <= SIGNIFICANCE / len(scores)]

    assert fmean(one.auc for one in scores) <= MAX_MEAN_AUC
    assert rejected == []


@pytest.mark.property
def test_private_cards_are_not_the_longest() -> None:
    """In no deck more often than chance, by the same test and procedure."""
    assert [deck.id for deck in DECKS if longest_chance(deck) <= SIGNIFICANCE / len(DECKS)] == []


@pytest.mark.property
def test_the_committed_classifier_is_that_of_the_decks() -> None:
    """Fitting it again gives the same weights: python -m oracles.hidden_profile.registers."""
    again, committed = fit_classifier(DECKS), published_classifier()

    assert (again.decks, again.weights.keys()) == (committed.decks, committed.weights.keys())
    assert again.weights == pytest.approx(committed.weights, abs=1e-4)


def test_words_that_mark_private_cards_are_learned() -> None:
    """From six decks to a seventh; where private and other cards begin alike, there is nothing to learn."""
    marked = score_decks([with_texts(deck, "Seen from the ridge:", "Posted on the wall:") for deck in DECKS[:7]])
    alike = score_decks([with_texts(deck, "Posted on the wall:", "Posted on the wall:") for deck in DECKS[:7]])

    assert [one.auc for one in marked] == [1.0] * 7
    assert max(one.chance for one in marked) < 0.01
    assert fmean(one.auc for one in alike) < 0.7


def test_one_deck_is_scored_by_the_committed_kind_of_classifier() -> None:
    """A classifier of some decks gives one that it has not seen the AUC that its weights make."""
    known = fit_classifier([with_texts(deck, "Seen from the ridge:", "Posted on the wall:") for deck in DECKS[:6]])

    assert isinstance(known, Classifier)
    assert known.score(with_texts(DECKS[7], "Seen from the ridge:", "Posted on the wall:")).auc == 1.0


@pytest.mark.parametrize(
    ("lead", "against"), [("I saw that", "says 'i'"), ("Word for word and once more for the record:", "characters")]
)
def test_one_card_that_stands_out_is_refused(lead: str, against: str) -> None:
    """First person, or half as long again as the others."""
    deck = with_texts(DECKS[0], "Seen:", "Seen:")
    document = deck.model_dump(by_alias=True)
    document["cards"][-1]["texts"][0]["text"] = f"{lead} seen, as it was."

    assert any(against in one for one in find_telling_looks(Deck.model_validate(document)))
