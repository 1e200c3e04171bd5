"""Accuracy of the cues, on sentences that were written from facts alone, without knowing the cues.

`sentences.json` has a sentence, the deal of its deck, and what it does to which cards (`rules.hearing.Said`). For *asserted*,
a card heard and labelled is right, one heard without the label a false alarm, one labelled and not heard is missed. A sentence
of any kind is *as labelled* if everything that it does to its labelled cards is detected, and no other card is heard.
A third of the sentences, `late`, was scored once, and the cues were not changed afterwards.

Matching all sentences takes seconds, so `detected.json` has the counts of published decks, and `python -m
oracles.hidden_profile.detection` writes it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from worlds.core.models import Strict
from worlds.hidden_profile.rules.deck import CUES, Deck, read_task
from worlds.hidden_profile.rules.hearing import Said, classify_fact

FILE = Path(__file__).with_name("sentences.json")
_SCENARIO = "scenario.json"
COUNTS = Path(__file__).with_name("detected.json")

SentenceKind = Literal["paraphrase", "partial", "other version", "denial", "doubt", "near miss", "question", "hearsay"]
KINDS: tuple[SentenceKind, ...] = get_args(SentenceKind)


class Sentence(Strict):
    """One sentence that could be said in a session."""

    task: str
    deal: str
    """Digits of the deal, as in the deck."""

    kind: SentenceKind
    """Partial: a part that does not decide. Near miss: another statement about the same things."""

    does: dict[str, Said]
    """Card -> what it does to the card's fact: a paraphrase asserts, another version contradicts, a denial denies; a doubt, a
    question and hearsay ask; a part and a near miss do nothing."""

    text: str
    late: bool = False

    @property
    def says(self) -> frozenset[str]:
        """The cards that it asserts."""
        return frozenset(card for card, done in self.does.items() if done == "asserted")


@dataclass(frozen=True, slots=True)
class Detection:
    """Counts over sentences and cards."""

    right: int
    false_alarms: int
    missed: int
    as_labelled: int = 0
    """Sentences that are detected as they are labelled."""

    sentences: int = 0

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
        return Detection(
            self.right + other.right, self.false_alarms + other.false_alarms, self.missed + other.missed,
            self.as_labelled + other.as_labelled, self.sentences + other.sentences,
        )  # fmt: skip


@cache
def read_sentences() -> tuple[Sentence, ...]:
    """Return the committed labelled sentences."""
    return tuple(map(Sentence.model_validate, json.loads(FILE.read_bytes())["sentences"]))


def detect_cards(deck: Deck, sentence: Sentence) -> dict[str, Said]:
    """Return what a sentence does to the cards of its deal, according to the cues."""
    numbers = deck.numbers(sentence.deal)
    cards = ((card.id, classify_fact(card.with_text(numbers[card.id]), sentence.text)) for card in deck.cards)
    return {card: done for card, done in cards if done is not None}


def compare_cards(fired: frozenset[str], told: frozenset[str]) -> Detection:
    """Return the counts of one sentence, from the cards heard and the cards told."""
    return Detection(len(fired & told), len(fired - told), len(told - fired))


def compare_sentence(heard: Mapping[str, Said], sentence: Sentence) -> Detection:
    """Return the counts of one sentence from what the cues detected."""
    fired = frozenset(card for card, done in heard.items() if done == "asserted")
    right = fired <= sentence.says and all(heard.get(card) == done for card, done in sentence.does.items())
    return compare_cards(fired, sentence.says) + Detection(0, 0, 0, int(right), 1)


def count_sentences(deck: Deck, task: str) -> tuple[Detection, ...]:
    """Return the counts of each labelled sentence of a task, in the file's order."""
    return tuple(compare_sentence(detect_cards(deck, one), one) for one in read_sentences() if one.task == task)


def committed_counts(folder: Path, task: str) -> tuple[Detection, ...] | None:
    """Return the committed counts of a task's labelled sentences; None if its world folder has other files than they are of."""
    digest, rows = _committed().get(task, ("", ()))
    return tuple(Detection(*row) for row in rows) if digest == _digest(folder) else None


@cache
def _committed() -> dict[str, tuple[str, Sequence[Sequence[int]]]]:
    return {task: (digest, rows) for task, (digest, rows) in json.loads(COUNTS.read_bytes()).items()}


def _digest(folder: Path) -> str:
    files = [folder / name for name in (_SCENARIO, CUES)]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


if __name__ == "__main__":
    made = {}
    for file in sorted(Path("tasks/hidden-profile").glob(f"*/environment/api/{_SCENARIO}")):
        if isinstance(deck := read_task(file), Deck):
            name = file.parents[2].name
            counts = count_sentences(deck, name)
            rows = [[one.right, one.false_alarms, one.missed, one.as_labelled, one.sentences] for one in counts]
            made[name] = [_digest(file.parent), rows]
    COUNTS.write_text("{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in made.items()) + "}\n")
