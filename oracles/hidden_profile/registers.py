"""Check C10: the cards of a hand look alike, so that neither length nor wording shows which facts are private.

1. In one deck: no text speaks in the first person, all texts have about the same length, and private cards are not the longest
of their hands more often than chance. The order of points is drawn by the seed, so there is no position to look at.
2. Over decks: a ridge classifier of private cards sees a text's words, pairs of words and length. A deck is scored by the
classifier that is fitted on all others; with the closed form of ridge regression one inversion gives all these fits. The AUC of
a deck is the probability that a private card scores above another one. `registers.json` has the classifier of all published
decks, for decks that are not among them; `python -m oracles.hidden_profile.registers` fits it again.

All tests are permutation tests: figures are exchanged among the cards of a deck.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from worlds.core.models import Strict
from worlds.hidden_profile.rules.deck import Deck, read_task
from worlds.hidden_profile.rules.hearing import fold_text

MAX_MEAN_AUC = 0.55
"""Limit of the mean AUC over decks."""

SIGNIFICANCE = 0.01
"""Family-wise level of the permutation tests over decks."""

LENGTHS = (2 / 3, 3 / 2)
"""Limits of a text's length in characters, in multiples of the mean length of the deck's cards."""

FILE = Path(__file__).with_name("registers.json")

_TOKEN = re.compile(r"[^\W\d]+(?:'[^\W\d]+)?|\d+|[^\w\s]")
_DIGITS = re.compile(r"\d+")
_FIRST_PERSON = re.compile(r"\b(i|me|my|mine|myself|we|us|our|ours|ourselves|i'\w+|we'\w+)\b")
_COMMON = 4
"""Minimum number of decks in which a feature occurs."""

_RIDGE = 10.0
_LENGTH_WEIGHT = 3.0
_LENGTH = "length"
_PERMUTATIONS = 10_000
_SEED = 2026

Array = NDArray[np.float64]
Features = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class DeckScore:
    """Accuracy with which a classifier fitted on other decks recognises the private cards of one deck."""

    deck: str
    auc: float
    chance: float
    """Probability of an AUC at least as high if the scores are exchanged among the cards."""


class Classifier(Strict):
    """Linear classifier of private cards, without its constant, which no AUC depends on."""

    decks: tuple[str, ...]
    """Ids of the decks on which it was fitted."""

    weights: dict[str, float]

    def score(self, deck: Deck) -> DeckScore:
        """Score a deck that it was not fitted on."""
        texts = [_features(words.text) for card in deck.cards for words in card.texts]
        return _scored(deck, [sum(self.weights.get(one, 0.0) * value for one, value in text.items()) for text in texts])


@cache
def published_classifier() -> Classifier:
    """Return the committed classifier."""
    return Classifier.model_validate_json(FILE.read_bytes())


def score_decks(decks: Sequence[Deck]) -> tuple[DeckScore, ...]:
    """Score each deck by the classifier that is fitted on all others."""
    fit = _Fit(decks)
    made = []
    for place, deck in enumerate(decks):
        mine = np.flatnonzero(fit.owner == place)
        left_out = fit.label[mine] - np.linalg.solve(fit.inverse[np.ix_(mine, mine)], fit.dual[mine])
        made.append(_scored(deck, left_out.tolist()))
    return tuple(made)


def fit_classifier(decks: Sequence[Deck]) -> Classifier:
    """Fit the classifier on all decks."""
    fit = _Fit(decks)
    weights = zip(fit.names, (fit.table.T @ fit.dual).tolist(), strict=True)
    return Classifier(decks=tuple(deck.id for deck in decks), weights={name: round(weight, 5) for name, weight in weights})


class _Fit:
    """Dual ridge regression on the texts of decks; each card counts once, however many texts it has."""

    def __init__(self, decks: Sequence[Deck]) -> None:
        rows = [
            (place, card, _features(one.text)) for place, deck in enumerate(decks) for card in deck.cards for one in card.texts
        ]
        self.owner = np.array([place for place, _, _ in rows])
        self.label = np.array([1.0 if card.scope == "private" else -1.0 for _, card, _ in rows])
        used = Counter(one for one, _ in {(one, place) for place, _, features in rows for one in features})
        self.names = sorted(one for one, count in used.items() if count >= min(_COMMON, len(decks)))
        columns = {name: column for column, name in enumerate(self.names)}
        table = np.zeros((len(rows), len(columns)))
        for row, (_, _, features) in enumerate(rows):
            known = [(columns[one], value) for one, value in features.items() if one in columns]
            table[row, [column for column, _ in known]] = [value for _, value in known]
        self.table = table - table.mean(axis=0)
        spread = np.array([float(len(card.texts)) for _, card, _ in rows])
        self.inverse = np.linalg.inv(self.table @ self.table.T + 1.0 + _RIDGE * np.diag(spread))
        self.dual = self.inverse @ self.label


def _features(text: str) -> dict[str, float]:
    """Return the words, marks and pairs of adjacent ones of a text, with numbers as `0`, and its length in 50 characters."""
    folded = fold_text(text)
    tokens = _TOKEN.findall(_DIGITS.sub("0", folded))
    return dict.fromkeys((*tokens, *map(" ".join, pairwise(tokens))), 1.0) | {_LENGTH: _LENGTH_WEIGHT * len(folded) / 50}


def _scored(deck: Deck, scores: Sequence[float]) -> DeckScore:
    """Return the AUC of a deck's cards, each with the mean score of its texts, and its permutation probability."""
    left = iter(scores)
    means = np.array([fmean(next(left) for _ in card.texts) for card in deck.cards])
    private = np.array([card.scope == "private" for card in deck.cards])
    auc = _auc(means, private)
    drawn = np.random.default_rng(_SEED)
    higher = sum(_auc(means, drawn.permutation(private)) >= auc for _ in range(_PERMUTATIONS))
    return DeckScore(deck.id, auc, (higher + 1) / (_PERMUTATIONS + 1))


def _auc(scores: Array, private: NDArray[np.bool_]) -> float:
    over = scores[private][:, None] - scores[~private][None, :]
    return float((over > 0).mean() + (over == 0).mean() / 2)


def find_telling_looks(deck: Deck) -> Iterator[str]:
    """Yield the objections of C10, except for published decks those of the classifier, which must be fitted without them."""
    length = {card.id: fmean(len(words.text) for words in card.texts) for card in deck.cards}
    usual = fmean(length.values())
    for card in deck.cards:
        for words in card.texts:
            if person := _FIRST_PERSON.search(fold_text(words.text)):
                yield f"{card.id} says '{person[0]}'"
            if not LENGTHS[0] * usual <= len(words.text) <= LENGTHS[1] * usual:
                yield f"{card.id} has {len(words.text)} characters, and cards of the deck have {usual:.0f}"
    if (chance := longest_chance(deck)) <= SIGNIFICANCE:
        yield f"private cards are the longest of their hands too often (p = {chance:.4f})"
    known = published_classifier()
    if deck.id not in known.decks and (score := known.score(deck)).chance <= SIGNIFICANCE / len(known.decks):
        yield f"words and lengths tell the private cards (AUC {score.auc:.2f})"


def longest_chance(deck: Deck) -> float:
    """Return the probability that private cards are the longest of as many hands, if lengths are exchanged among cards."""
    private = np.array([card.scope == "private" for card in deck.cards])
    values = np.array([fmean(len(words.text) for words in card.texts) for card in deck.cards])
    hands = [np.array([card in deck.cards_seen_by(seat) for card in deck.cards]) for seat in deck.seats]

    def longest(order: Array) -> int:
        return sum(bool(private[np.where(hand, order, 0).argmax()]) for hand in hands)

    drawn, seen = np.random.default_rng(_SEED), longest(values)
    return (sum(longest(drawn.permutation(values)) >= seen for _ in range(1000)) + 1) / 1001


if __name__ == "__main__":
    shipped = [read_task(path) for path in sorted(Path("tasks/hidden-profile").glob("*/environment/api/scenario.json"))]
    FILE.write_text(
        json.dumps(fit_classifier([deck for deck in shipped if isinstance(deck, Deck)]).model_dump(), indent=0) + "\n"
    )
