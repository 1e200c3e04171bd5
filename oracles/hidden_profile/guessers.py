"""Guessers that use words without understanding: if one of them finds keys, the texts give keys away.

Each is a function from a seat's handout to the options among which it cannot choose; its score is the key's share of them, so
the order of the file does not matter. They read imported prose as well as ours (specification, 2.4, C8).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from worlds.hidden_profile.rules.hearing import fold_text
from worlds.hidden_profile.rules.scenario import Scenario

_NEGATIVE = """
    no not never none nobody nothing nowhere neither nor without cannot failed fails fail failing broken broke late delayed
    slow closed shut locked lost missing wrong bad worse worst poor weak risk risky danger dangerous unsafe damaged damage leak
    leaks leaking cracked expensive dear dearer dearest costly narrow noisy dirty ill sick old refused refuses cancelled
    complaint complaints problem problems trouble difficult hard unable short shortage spoiled stuck worn"""
NEGATIVE = frozenset(_NEGATIVE.split())
"""Words that speak against something; words that end in n't count too."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Handout:
    """Text for a seat: the options in the order shown, and every other text."""

    options: tuple[tuple[str, str], ...]
    """Id and label."""

    texts: tuple[str, ...]


Guesser = Callable[[Handout], tuple[str, ...]]


def build_handout(scenario: Scenario, facts: Iterable[str]) -> Handout:
    """Return the handout of a seat with these facts: the brief and their texts."""
    texts = (scenario.brief, *(scenario.by_id[fact].text for fact in facts))
    return Handout(tuple((option.id, option.label) for option in scenario.options), texts)


def make_sentence_guesser(score: Callable[[list[str]], int]) -> Guesser:
    """Return a guesser of the options for which the sentences that name them score highest."""
    return lambda seen: _top({option: score(sentences) for option, sentences in sentences_by_option(seen).items()})


GUESSERS: dict[str, Guesser] = {
    "always-last": lambda seen: (seen.options[-1][0],),
    "most-mentioned": make_sentence_guesser(len),
    "fewest-negative": make_sentence_guesser(lambda sentences: -sum(map(count_negative_words, sentences))),
    "longest": lambda seen: _top({option: len(label) for option, label in seen.options}),
    "longest-texts": make_sentence_guesser(lambda sentences: sum(len(split_words(one)) for one in sentences)),
}
"""Guessers by name."""


def hit_probability(guess: tuple[str, ...], key: str) -> Fraction:
    """Return the probability that a random choice among the guessed options is the key."""
    return Fraction(key in guess, len(guess))


def score_guessers(scenario: Scenario) -> dict[str, float]:
    """Return the score of each guesser that reads the brief and all facts, with options in the file's order."""
    seen = build_handout(scenario, scenario.by_id)
    return {name: float(hit_probability(guess(seen), scenario.key)) for name, guess in GUESSERS.items()}


def split_words(text: str) -> list[str]:
    """Return the folded words of a text."""
    return _WORD.findall(fold_text(text))


def count_negative_words(sentence: str) -> int:
    """Count the words of a sentence that speak against something."""
    return sum(word in NEGATIVE or word.endswith("n't") for word in split_words(sentence))


def sentences_by_option(seen: Handout) -> dict[str, list[str]]:
    """Return the sentences that name each option: by a word that only its label has, or by the label if there is none."""
    labels = {option: set(split_words(label)) for option, label in seen.options}
    uses = Counter(word for label in labels.values() for word in label)
    own = {option: {word for word in label if uses[word] == 1 and len(word) > 2} for option, label in labels.items()}
    sentences = [one for text in seen.texts for one in _SENTENCE.split(text)]
    return {
        option: [
            one
            for one in sentences
            if own[option].intersection(split_words(one)) or (not own[option] and fold_text(label) in fold_text(one))
        ]
        for option, label in seen.options
    }


def _top(points: dict[str, int]) -> tuple[str, ...]:
    best = max(points.values())
    return tuple(option for option, value in points.items() if value == best)
