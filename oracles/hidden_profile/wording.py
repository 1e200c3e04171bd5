"""The checks of a certificate that read words instead of logic: what gives a fact away, and where a verdict stands.

Specification, 2.4: C6, C7. Words are folded as cues are (`rules.hearing`), so case and curly quotes hide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from worlds.hidden_profile.rules.deck import Deck, text_of
from worlds.hidden_profile.rules.hearing import fires, fold, mentions

_SENTENCES = re.compile(r"(?<=[.!?])\s+")
VERDICTS = re.compile(r"\b(only|best|safest|correct|ideal|perfect|obvious|winner)\b")


def cues(deck: Deck) -> Iterator[str]:
    """C6 of a deck: texts that fire not on their own words, or on another card, a sentence of the brief, or a plain stance.

    Shared cards may do without cues; then nothing is measured of how often they are told.
    """
    plain = {f"the brief: {sentence}": sentence for sentence in _SENTENCES.split(deck.brief)}
    plain |= {f"a vote for {one.id}": f"I lean to [{one.id}]. {one.label} is what I would choose." for one in deck.options}
    for card in deck.cards:
        others = {other.id: "\n".join(words.text for words in other.texts) for other in deck.cards if other.id != card.id}
        for number, words in enumerate(card.texts):
            if card.scope == "shared" and not words.cues:
                continue
            if not fires(words, words.text):
                yield f"{text_of(card.id, number)} does not fire on its own text"
            for where, text in (others | plain).items():
                if mentions(words, text):
                    yield f"{text_of(card.id, number)} fires on {where}"


def verdicts(deck: Deck) -> Iterator[str]:
    """C7 of a deck: private texts that name an option's label and also contain a word of decision."""
    names = {name for option in deck.options for name in (fold(option.label), fold(option.label).partition(" & ")[0])}
    for card in deck.of_scope("private"):
        for number, words in enumerate(card.texts):
            text = fold(words.text)
            if any(name in text for name in names) and (verdict := VERDICTS.search(text)):
                yield f"{text_of(card.id, number)} says '{verdict[0]}' beside an option's label"
