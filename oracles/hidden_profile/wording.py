"""The checks of a certificate that read words and tags instead of logic: who is talked about, what gives a fact away.

Specification, 2.4: C5, C6, C7. Words are folded as cues are (`rules.hearing`), so case and curly quotes hide nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from worlds.hidden_profile.rules.hearing import fold, mentions
from worlds.hidden_profile.rules.scenario import Scenario

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
    """Facts that fire on what everybody was told at first, so that who only repeats it seems to tell them.

    No part of the certificate: the specification has no such check, and one of its worked examples would fail it.
    """
    told = "\n".join((scenario.brief, *(option.label for option in scenario.options)))
    yield from (f"{fact.id} fires on the brief or on a label" for fact in scenario.facts if mentions(fact, told))


def verdicts(scenario: Scenario) -> Iterator[str]:
    """C7: private facts in which the key's label stands with a word that decides."""
    label = fold(scenario.label(scenario.key))
    names = {label, label.partition(" & ")[0]}
    for identity in scenario.of_scope("private"):
        text = fold(scenario.by_id[identity].text)
        if any(name in text for name in names) and (found := VERDICTS.search(text)):
            yield f"{identity} says '{found[0]}' beside the key's label"
