"""How well cues hear what is said: precision and recall on sentences that somebody labelled without having seen the cues.

`sentences.json` has a sentence, the deal of the deck that it belongs to, and which cards it tells: all of them, and no others.
A card that fires and is labelled is right, one that fires unlabelled a false alarm, one that is labelled and silent is missed.
A third of the sentences, `late`, was written when the cues stood as they are, and scored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Literal

from worlds.core.models import Strict
from worlds.hidden_profile.rules.deck import Deck
from worlds.hidden_profile.rules.hearing import mentions

FILE = Path(__file__).with_name("sentences.json")
KINDS = ("paraphrase", "partial", "denial", "near miss")
Z = 1.959963984540054
"""Of a two-sided interval of 95 %."""


class Sentence(Strict):
    """One sentence as somebody might say it in a session."""

    task: str
    deal: str
    """Digits of the deal, as the deck lists it."""

    kind: Literal["paraphrase", "partial", "denial", "near miss"]
    """In other words; only so much that it does not decide; that it is not so; the same things, and something else of them."""

    says: tuple[str, ...]
    """The cards that it tells, so that who hears it knows what the card asserts."""

    text: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class Detection:
    """Counts over sentences and cards."""

    right: int
    false_alarms: int
    missed: int

    @property
    def precision(self) -> float | None:
        """The share of cards that fired which were told; None where none fired."""
        fired = self.right + self.false_alarms
        return self.right / fired if fired else None

    @property
    def recall(self) -> float | None:
        """The share of told cards that fired; None where none was told."""
        told = self.right + self.missed
        return self.right / told if told else None

    @property
    def least_precision(self) -> float:
        """The lower end of its 95 % interval (Wilson 1927)."""
        return least(self.right, self.right + self.false_alarms)

    @property
    def least_recall(self) -> float:
        """The lower end of its 95 % interval (Wilson 1927)."""
        return least(self.right, self.right + self.missed)


@cache
def sentences() -> tuple[Sentence, ...]:
    """The labelled sentences as committed."""
    return LabelledSet.model_validate_json(FILE.read_bytes()).sentences


class LabelledSet(Strict):
    """The file."""

    sentences: tuple[Sentence, ...]


def heard(deck: Deck, sentence: Sentence) -> frozenset[str]:
    """The cards of its deal whose cues fire on a sentence."""
    numbers = deck.numbers(sentence.deal)
    return frozenset(card.id for card in deck.cards if mentions(card.texts[numbers[card.id]], sentence.text))


def detected(decks: Mapping[str, Deck], those: Iterable[Sentence]) -> Detection:
    """What cues make of these sentences; `decks` by task id."""
    right = false_alarms = missed = 0
    for sentence in those:
        fired, told = heard(decks[sentence.task], sentence), frozenset(sentence.says)
        right, false_alarms, missed = right + len(fired & told), false_alarms + len(fired - told), missed + len(told - fired)
    return Detection(right, false_alarms, missed)


def least(hits: int, of: int) -> float:
    """The lower end of Wilson's 95 % interval of a share; 0 of nothing."""
    if not of:
        return 0.0
    share = hits / of
    return (share + Z**2 / (2 * of) - Z * sqrt(share * (1 - share) / of + Z**2 / (4 * of**2))) / (1 + Z**2 / of)


@dataclass(frozen=True, slots=True)
class LossRange:
    """Between what a loss may be, once what cues get wrong is allowed for."""

    low: float
    high: float


def losses_between(
    detection: Detection, *, pooling: float, listening: float, lucky: float, needed: float
) -> tuple[LossRange, LossRange]:
    """The bounds of pooling loss and listening loss, where a seat has to hear `needed` facts on average.

    1. A seat that could know was heard to be told all of `needed` facts. At worst each of them was a false alarm with chance
       1 - precision, so that it could not; at best seats that lacked facts had been told them, each missed with 1 - recall.
    2. Whoever turns out to have known after all, and was wrong, moves from pooling loss to listening loss.
    Each fact counts as said once, and both rates are at the lower ends of their intervals: the bounds are wide on purpose.
    """
    could = 1 - pooling
    seldom = detection.least_recall**needed
    most = min(1.0, could / seldom) if seldom else 1.0
    fewest = could * detection.least_precision**needed
    moved = min(most - could, pooling - lucky)
    return LossRange(1 - most, 1 - fewest), LossRange(listening * fewest / could if could else 0.0, listening + max(moved, 0.0))
