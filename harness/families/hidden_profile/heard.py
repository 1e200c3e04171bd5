"""What the error of the cues means for the losses: precision and recall on labelled sentences, and the bounds that they leave.

On the free track who knew what is heard by cues, and cues miss paraphrases. Their error is measured on the sentences that were
written last and scored once (`oracles.hidden_profile.detection`), with intervals that allow for sentences of one task being
alike; how much hangs on it depends on how many facts a person has to hear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from harness.registry import Task
from harness.report.statistics import Interval, rate_interval
from oracles.hidden_profile.detection import Detection, Sentence, compared, heard, sentences
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import Deck, read_task


@dataclass(frozen=True, slots=True)
class Hearing:
    """How one way of hearing does on labelled sentences: the counts of each task that has any."""

    by_task: tuple[Detection, ...]

    @property
    def total(self) -> Detection:
        """The counts of all tasks."""
        return sum(self.by_task, Detection(0, 0, 0))

    @property
    def precision(self) -> Interval:
        """Its 95 % interval; from 0 to 1 where nothing fired."""
        return _between([(one.right, one.false_alarms) for one in self.by_task])

    @property
    def recall(self) -> Interval:
        """Its 95 % interval; from 0 to 1 where nothing was told."""
        return _between([(one.right, one.missed) for one in self.by_task])

    @property
    def least_precision(self) -> float:
        """The lower end."""
        return self.precision[0]

    @property
    def least_recall(self) -> float:
        """The lower end."""
        return self.recall[0]


@dataclass(frozen=True, slots=True)
class LossRange:
    """Between what a loss may be, once what cues get wrong is allowed for."""

    low: float
    high: float


def hearing(counts: Iterable[tuple[str, Detection]]) -> Hearing:
    """The counts of sentences, gathered by the task that each is of."""
    by_task: dict[str, Detection] = defaultdict(lambda: Detection(0, 0, 0))
    for task, counted in counts:
        by_task[task] += counted
    return Hearing(tuple(by_task.values()))


Counts = Sequence[tuple[Sentence, Detection]]


def counted(tasks: Iterable[Task]) -> Counts:
    """Every labelled sentence of these tasks with what the cues make of it: hearing them all takes most of a second."""
    decks = {task.task_id: deck for task in tasks if (deck := _deck(task)) is not None}
    those = (one for one in sentences() if one.task in decks)
    return [(one, compared(heard(decks[one.task], one), frozenset(one.says))) for one in those]


def by_cues(counts: Counts, *, late: bool | None) -> Hearing | None:
    """How the cues do on these sentences: on the late ones, those before, or (None) all; None without any."""
    those = [(one.task, detected) for one, detected in counts if late in {None, one.late}]
    return hearing(those) if those else None


def ranges(
    cues: Hearing, tasks: Iterable[Task], *, pooling: float, listening: float, lucky: float
) -> tuple[LossRange, LossRange] | None:
    """Between what pooling loss and listening loss may be over these tasks; None where none of them is a deck."""
    needed = [count for task in tasks if (count := _needed(task.path)) is not None]
    if not needed:
        return None
    return losses_between(
        cues.least_precision, cues.least_recall, pooling=pooling, listening=listening, lucky=lucky, needed=fmean(needed)
    )


def losses_between(
    precision: float, recall: float, *, pooling: float, listening: float, lucky: float, needed: float
) -> tuple[LossRange, LossRange]:
    """The bounds of pooling loss and listening loss, where a seat has to hear `needed` facts on average.

    1. A seat that could know was heard to be told all of `needed` facts. At worst each of them was a false alarm with chance
       1 - precision, so that it could not; at best seats that lacked facts had been told them, each missed with 1 - recall.
    2. Whoever turns out to have known after all, and was wrong, moves from pooling loss to listening loss.
    Each fact counts as said once, and both rates are the least that they may be: the bounds are wide on purpose.
    """
    could = 1 - pooling
    seldom = recall**needed
    most = min(1.0, could / seldom) if seldom else 1.0
    fewest = could * precision**needed
    moved = min(most - could, pooling - lucky)
    return LossRange(1 - most, 1 - fewest), LossRange(listening * fewest / could if could else 0.0, listening + max(moved, 0.0))


def said_of(counts: Counts) -> str:
    """Precision and recall in a note: of the sentences scored once, of those mended on, and of all."""
    named = (("written last, scored once", True), ("mended on", False), ("all", None))
    known = [(name, one) for name, late in named if (one := by_cues(counts, late=late)) is not None]
    return f"cues on sentences labelled by language models, 95 % intervals; {'; '.join(_rates(*each) for each in known)}"


def _rates(name: str, one: Hearing) -> str:
    rates = (("precision", one.total.precision, one.precision), ("recall", one.total.recall, one.recall))
    return f"{name}: " + ", ".join(f"{rate} {value or 0:.3f} ({low:.2f}..{high:.2f})" for rate, value, (low, high) in rates)


def _between(counts: Sequence[tuple[int, int]]) -> Interval:
    """The interval of a rate, from the hits and the others of each task."""
    return rate_interval([[True] * hits + [False] * others for hits, others in counts]) or (0.0, 1.0)


def _deck(task: Task) -> Deck | None:
    try:
        read = read_task(task.world_folder / SCENARIO)
    except (OSError, ValueError):
        return None
    return read if isinstance(read, Deck) else None


@lru_cache(maxsize=256)
def _needed(folder: Path) -> float | None:
    """How many necessary facts a person lacks at the beginning, over deals and people; None where no certificate says."""
    try:
        read = read_task(folder / "environment" / "api" / SCENARIO)
        certificate = Certificate.model_validate_json((folder / "tests" / "oracle.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(read, Deck) or not certificate.deals:
        return None
    holders = {card.id: card.holders for card in read.cards}
    return fmean(sum(seat not in holders[card] for card in row.necessary) for row in certificate.deals for seat in read.seats)
