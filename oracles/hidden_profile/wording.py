"""The checks of a certificate that read words and tags instead of logic: who is talked about, what gives a fact away.

Specification, 2.4: C5, C6, C7. Words are folded as cues are (`rules.hearing`), so case and curly quotes hide nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from worlds.hidden_profile.rules.deck import Deck, text_of
from worlds.hidden_profile.rules.hearing import fold, mentions
from worlds.hidden_profile.rules.scenario import Scenario

_SENTENCES = re.compile(r"(?<=[.!?])\s+")
VERDICTS = re.compile(r"\b(only|best|safest|correct|ideal|perfect|obvious|winner)\b")


def balance(scenario: Scenario) -> Iterator[str]:
    """C5: what is wrong where the key is the one option that private and noise facts touch least, or most."""
    counts = Counter(option for fact in scenario.facts if fact.scope != "shared" for option in set(fact.about))
    key, others = counts[scenario.key], [counts[option] for option in scenario.option_ids if option != scenario.key]
    for word, beyond in (("least", key < min(others)), ("most", key > max(others))):
        if beyond:
            yield f"the key {scenario.key} is the {word} discussed: {key} against {sorted(others)}"


def cues(scenario: Scenario) -> Iterator[str]:
    """C6: facts that do not fire on their own words, or fire on those of another fact.

    Shared facts may do without cues; then nothing is measured of how often they are told.
    """
    for fact in scenario.facts:
        if fact.scope == "shared" and not fact.cues:
            continue
        if not mentions(fact, fact.text):
            yield f"{fact.id} does not fire on its own text"
        yield from (
            f"{fact.id} fires on the text of {other.id}"
            for other in scenario.facts
            if other.id != fact.id and mentions(fact, other.text)
        )


def recited(scenario: Scenario) -> Iterator[str]:
    """Facts that fire on the brief or on a label, so that merely repeating those would count as telling the fact.

    No part of the certificate: the specification has no such check, and one of its worked examples would fail it.
    """
    told = "\n".join((scenario.brief, *(option.label for option in scenario.options)))
    yield from (f"{fact.id} fires on the brief or on a label" for fact in scenario.facts if mentions(fact, told))


def deck_cues(deck: Deck) -> Iterator[str]:
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
            if not mentions(words, words.text):
                yield f"{text_of(card.id, number)} does not fire on its own text"
            for where, text in (others | plain).items():
                if mentions(words, text):
                    yield f"{text_of(card.id, number)} fires on {where}"


def deck_verdicts(deck: Deck) -> Iterator[str]:
    """C7 of a deck: private texts that name an option's label and also contain a word of decision."""
    names = {name for option in deck.options for name in (fold(option.label), fold(option.label).partition(" & ")[0])}
    for card in deck.of_scope("private"):
        for number, words in enumerate(card.texts):
            text = fold(words.text)
            if any(name in text for name in names) and (verdict := VERDICTS.search(text)):
                yield f"{text_of(card.id, number)} says '{verdict[0]}' beside an option's label"


def verdicts(scenario: Scenario) -> Iterator[str]:
    """C7: private facts that name the key's label and also contain a word of decision."""
    label = fold(scenario.label(scenario.key))
    names = {label, label.partition(" & ")[0]}
    for identity in scenario.of_scope("private"):
        text = fold(scenario.by_id[identity].text)
        if any(name in text for name in names) and (verdict := VERDICTS.search(text)):
            yield f"{identity} says '{verdict[0]}' beside the key's label"
