"""How well cues hear what is said: precision and recall on sentences that somebody labelled without having seen the cues.

`sentences.json` has a sentence, the deal of the deck that it belongs to, and which cards it tells: all of them, and no others.
A card that fires and is labelled is right, one that fires unlabelled a false alarm, one that is labelled and silent is missed.
A third of the sentences, `late`, was written when the cues stood as they are, and scored once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from worlds.core.models import Strict
from worlds.hidden_profile.rules.deck import Deck
from worlds.hidden_profile.rules.hearing import mentions

FILE = Path(__file__).with_name("sentences.json")
KINDS = ("paraphrase", "partial", "denial", "near miss")


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

    def __add__(self, other: Detection) -> Detection:
        return Detection(self.right + other.right, self.false_alarms + other.false_alarms, self.missed + other.missed)


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


def compared(fired: frozenset[str], told: frozenset[str]) -> Detection:
    """The counts of one sentence, from the cards heard and the cards told."""
    return Detection(len(fired & told), len(fired - told), len(told - fired))
