"""What a scripted seat can make out: its own hand in its rules, and in what others say the facts, and where they stand.

1. A fact is recognised by its words: a line of its own in the rules, anywhere in a message. What is left of a message once the
   facts said word for word are taken out is read by cues, as the validator reads it, so a scripted seat also hears a model.
2. A stance is a sentence of our own that names the option by its id, since prose has no stances. Nothing else is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from worlds.hidden_profile.rules.hearing import fold, mentions
from worlds.hidden_profile.rules.scenario import FactSheet

_MESSAGE = re.compile(r"^Person (\d+): (.*(?:\n {4}.*)*)", re.MULTILINE)
_CITES = re.compile(r" ?\[cites [g\d, ]+\]")

UNDECIDED = "I cannot decide."
"""What a seat says that stands for nothing."""


def leaning(option: str) -> str:
    """The sentence by which a scripted seat takes a stance."""
    return f"I lean to [{option}]."


@dataclass(frozen=True, slots=True)
class Heard:
    """What was made out of one message."""

    told: tuple[str, ...]
    """Ids of facts, in the file's order."""

    stance: str | None


def read_hand(scenario: FactSheet, system: str) -> dict[str, str]:
    """The facts that a seat's rules give it, in the order shown, each with its handle; "" where points have none."""
    shown = []
    for fact in scenario.facts:
        line = re.search(rf"^(?:- |(F\d+)\. ){re.escape(fact.text)}$", system, re.MULTILINE)
        if line:
            shown.append((line.start(), fact.id, line[1] or ""))
    return {fact: handle for _, fact, handle in sorted(shown)}


def messages(text: str) -> list[tuple[int, str]]:
    """The messages that the text of a turn repeats, in order: the person's number, from 1, and the words."""
    return [(int(message[1]), message[2].replace("\n    ", "\n")) for message in _MESSAGE.finditer(text)]


class Ear:
    """Makes out messages of one scenario's session."""

    def __init__(self, scenario: FactSheet) -> None:
        self._scenario = scenario
        texts = {fact.id: fold(fact.text) for fact in scenario.facts}
        self._texts = sorted(texts.items(), key=lambda item: -len(item[1]))
        self._stances = {option: fold(leaning(option)) for option in scenario.option_ids}

    def hear(self, message: str) -> Heard:
        """The facts in a message, and the stance that it ends on."""
        left = fold(message)
        places = {option: left.rfind(sentence) for option, sentence in self._stances.items()}
        last = max(places, key=lambda option: places[option])
        told = set()
        for fact, text in self._texts:
            if text in left:
                told.add(fact)
                left = left.replace(text, "\n")
        told.update(self._hinted(left))
        ordered = tuple(fact.id for fact in self._scenario.facts if fact.id in told)
        return Heard(ordered, last if places[last] >= 0 else None)

    def _hinted(self, left: str) -> list[str]:
        """The facts that other words than their own bring up."""
        for sentence in (*self._stances.values(), fold(UNDECIDED)):
            left = left.replace(sentence, "\n")
        left = _CITES.sub("\n", left)
        return [fact.id for fact in self._scenario.facts if mentions(fact, left)] if left.strip() else []
