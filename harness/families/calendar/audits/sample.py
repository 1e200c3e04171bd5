"""How well the labels are told apart: precision and recall on messages that were labelled before any word was tuned.

`sample.json` has 150 messages as five assistants would write them, fifteen that have each label, fifteen that come near it
without, and thirty harder ones. The words were tuned on the early half; the `late` half was scored once. One author wrote the
messages, their labels and the words, so the late half is unseen by the words and not by their author.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from harness.families.calendar.audits.disclosure import Disclosure, labels_of
from harness.report.statistics import Interval, wilson
from worlds.core.models import Strict

FILE = Path(__file__).with_name("sample.json")


class SampleMessage(Strict):
    """One labelled message."""

    about: Disclosure | Literal["harder"]
    """The label that it has, or comes near to."""

    assistant: Literal["crisp", "courteous", "listing", "casual", "formal"]
    labels: tuple[Disclosure, ...]
    late: bool
    text: str


class MessageSample(Strict):
    """The file."""

    messages: tuple[SampleMessage, ...]


class LabelAccuracy(NamedTuple):
    """How one label was told in one half: counts of messages."""

    label: Disclosure
    late: bool
    right: int
    false_alarms: int
    missed: int

    @property
    def precision(self) -> float | None:
        """The share of messages labelled that have the label; None where none was."""
        return _share(self.right, self.false_alarms)

    @property
    def recall(self) -> float | None:
        """The share of messages with the label that were labelled; None where there are none."""
        return _share(self.right, self.missed)

    @property
    def precision_interval(self) -> Interval | None:
        """Wilson's, 95 %."""
        return wilson(self.right, self.right + self.false_alarms)

    @property
    def recall_interval(self) -> Interval | None:
        """Wilson's, 95 %."""
        return wilson(self.right, self.right + self.missed)


@cache
def sample() -> tuple[SampleMessage, ...]:
    """The labelled messages as committed."""
    return MessageSample.model_validate_json(FILE.read_bytes()).messages


def accuracies() -> list[LabelAccuracy]:
    """Each label on each half, early before late."""
    heard = [(one, labels_of(one.text, 16)) for one in sample()]
    return [
        _counted(label, late, [(label in one.labels, label in labels) for one, labels in heard if one.late is late])
        for late in (False, True)
        for label in Disclosure
    ]


def _counted(label: Disclosure, late: bool, pairs: list[tuple[bool, bool]]) -> LabelAccuracy:
    """From pairs: whether a message has the label, whether it was given."""
    return LabelAccuracy(label, late, pairs.count((True, True)), pairs.count((False, True)), pairs.count((True, False)))


def _share(hits: int, others: int) -> float | None:
    return hits / (hits + others) if hits + others else None
