"""Precision and recall of cues, on sentences whose labels were made without knowing the cues.

`sentences.json` has a sentence, the deal of its deck, and all cards that it tells. A card that matches and is labelled is
correct, one that matches without a label a false alarm, one that is labelled and does not match is missed. A third of the
sentences, `late`, was written after the cues were final, and scored once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from worlds.core.models import Strict
from worlds.hidden_profile.rules.deck import Deck
from worlds.hidden_profile.rules.hearing import mentions_fact

FILE = Path(__file__).with_name("sentences.json")
KINDS = ("paraphrase", "partial", "denial", "near miss")


class Sentence(Strict):
    """One sentence that could be said in a session."""

    task: str
    deal: str
    """Digits of the deal, as in the deck."""

    kind: Literal["paraphrase", "partial", "denial", "near miss"]
    """A paraphrase; a part that does not decide; a denial; or the same things with another statement about them."""

    says: tuple[str, ...]
    """The cards that it tells, so that a listener knows what they assert."""

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
        """Fraction of matched cards that were told; None if none matched."""
        fired = self.right + self.false_alarms
        return self.right / fired if fired else None

    @property
    def recall(self) -> float | None:
        """Fraction of told cards that matched; None if none was told."""
        told = self.right + self.missed
        return self.right / told if told else None

    def __add__(self, other: Detection) -> Detection:
        return Detection(self.right + other.right, self.false_alarms + other.false_alarms, self.missed + other.missed)


@cache
def read_sentences() -> tuple[Sentence, ...]:
    """Return the committed labelled sentences."""
    return tuple(map(Sentence.model_validate, json.loads(FILE.read_bytes())["sentences"]))


def detect_cards(deck: Deck, sentence: Sentence) -> frozenset[str]:
    """Return the cards of its deal whose cues match a sentence."""
    numbers = deck.numbers(sentence.deal)
    return frozenset(card.id for card in deck.cards if mentions_fact(card.texts[numbers[card.id]], sentence.text))


def compare_cards(fired: frozenset[str], told: frozenset[str]) -> Detection:
    """Return the counts of one sentence, from the cards heard and the cards told."""
    return Detection(len(fired & told), len(fired - told), len(told - fired))
