"""What the error of the cues means for the losses: precision and recall on labelled sentences, and the bounds that they leave.

On the free track who knew what is heard by cues, and cues miss paraphrases. Their error is measured on the sentences that were
written last and scored once (`oracles.hidden_profile.detection`); how much hangs on it depends on how many facts a person has
to hear.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from harness.registry import Task
from oracles.hidden_profile.detection import Detection, LossRange, detected, losses_between, sentences
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import Deck, read_task


def detection(tasks: Iterable[Task], *, late: bool) -> Detection | None:
    """How the cues do on labelled sentences of these tasks, the late ones or those before; None where there are none."""
    decks = {task.task_id: deck for task in tasks if (deck := _deck(task)) is not None}
    those = [one for one in sentences() if one.task in decks and one.late is late]
    return detected(decks, those) if those else None


def ranges(
    heard: Detection, tasks: Iterable[Task], *, pooling: float, listening: float, lucky: float
) -> tuple[LossRange, LossRange] | None:
    """Between what pooling loss and listening loss may be over these tasks; None where none of them is a deck."""
    needed = [count for task in tasks if (count := _needed(task.path)) is not None]
    if not needed:
        return None
    return losses_between(heard, pooling=pooling, listening=listening, lucky=lucky, needed=fmean(needed))


def said_of(before: Detection | None, late: Detection | None) -> str:
    """Precision and recall in a note."""
    named = (("those that the cues were mended on", before), ("those written last, scored once", late))
    parts = [
        f"{name}: precision {one.precision or 0:.2f} (95 %: {one.least_precision:.2f} at least), "
        f"recall {one.recall or 0:.2f} ({one.least_recall:.2f})"
        for name, one in named
        if one is not None
    ]
    return f"cues on labelled sentences; {'; '.join(parts)}"


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
