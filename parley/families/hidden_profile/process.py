"""Process measures between the two votes: pooling, uptake, consensus, conformity, biases, and losses of accuracy.

1. Each measure is the mean over tasks of the mean over sessions that have it; the rates of moves pool all their opportunities.
A measure that no session has is blank: some need a certificate, others the structured track (specification, 1.4).
2. On the free track, cues detect which facts were told. They miss paraphrases, so each loss is shown with a range that follows
from the precision and recall of the cues on labelled sentences, which were written last and scored once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from harness.frames import grouped
from harness.records import Result
from harness.registry import Task
from oracles.hidden_profile.detection import KINDS, Detection, Sentence, committed_counts, count_sentences, read_sentences
from parley.families.hidden_profile.arms import CONDITIONS, Arm, arms, standing_notes
from parley.families.hidden_profile.published import MARK, numbers, source
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, Value, table_of, titled
from parley.statistics import Interval, rate_interval
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import Deck, read_task


@dataclass(frozen=True, slots=True)
class Hearing:
    """Results of one detection method on labelled sentences: the counts for each task with such sentences."""

    by_task: tuple[Detection, ...]

    @property
    def total(self) -> Detection:
        """The counts of all tasks."""
        return sum(self.by_task, Detection(0, 0, 0))

    @property
    def precision(self) -> Interval:
        """95 % interval of the precision; from 0 to 1 if nothing was detected."""
        return _between([(one.right, one.false_alarms) for one in self.by_task])

    @property
    def recall(self) -> Interval:
        """95 % interval of the recall; from 0 to 1 if nothing was told."""
        return _between([(one.right, one.missed) for one in self.by_task])


def hearing(counts: Iterable[tuple[str, Detection]]) -> Hearing:
    """Return the counts of sentences, grouped by their task."""
    by_task = grouped(counts, lambda one: one[0]).values()
    return Hearing(tuple(sum((detected for _, detected in mine), Detection(0, 0, 0)) for mine in by_task))


class LossRange(NamedTuple):
    """Range of a loss that accounts for the errors of the cues."""

    low: float
    high: float


Counts = Sequence[tuple[Sentence, Detection]]


def labelled_counts(tasks: Iterable[Task]) -> Counts:
    """Return every labelled sentence of these tasks with its detection by cues, as committed unless the files differ."""
    sentences = grouped(read_sentences(), lambda one: one.task)
    made: list[tuple[Sentence, Detection]] = []
    for task in tasks:
        mine = sentences.get(task.task_id, ())
        counts = committed_counts(task.world_folder, task.task_id) if mine else ()
        if counts is None and (deck := _deck(task)) is not None:
            counts = count_sentences(deck, task.task_id)
        made += zip(mine, counts or (), strict=bool(counts))
    return made


def by_cues(counts: Counts, *, late: bool | None) -> Hearing | None:
    """Return the results of the cues on the late sentences, the earlier ones, or all (`late` is None); None without any."""
    those = [(one.task, detected) for one, detected in counts if late in {None, one.late}]
    return hearing(those) if those else None


def losses_between(
    precision: float, recall: float, *, pooling: float, listening: float, lucky: float, needed: float
) -> tuple[LossRange, LossRange]:
    """Return the ranges of pooling loss and listening loss, if a seat has to hear `needed` facts on average.

    1. A seat counts as able to know if the cues detected that it was told all `needed` facts. In the worst case, each detection
    was a false alarm with probability 1 - precision, and the seat could not know. In the best case, each fact that a seat seems
    to lack was told and missed with probability 1 - recall.
    2. A seat that could know after all and voted wrongly moves from pooling loss to listening loss.

    Each fact counts as told once, and the lower bounds of both rates are used, so the ranges are wide on purpose.
    """
    could = 1 - pooling
    seldom = recall**needed
    most = min(1.0, could / seldom) if seldom else 1.0
    fewest = could * precision**needed
    moved = min(most - could, pooling - lucky)
    return LossRange(1 - most, 1 - fewest), LossRange(listening * fewest / could if could else 0.0, listening + max(moved, 0.0))


def said_of(counts: Counts) -> str:
    """Return a note with precision and recall on the sentences scored once, on those used to improve cues, and on all."""
    named = (("written last, scored once", True), ("mended on", False), ("all", None))
    known = [(name, one) for name, late in named if (one := by_cues(counts, late=late)) is not None]
    rates = "; ".join(_rates(*each) for each in known)
    return f"cues on sentences labelled by language models, 95 % intervals; {rates}; {kinds_of(counts)}"


def kinds_of(counts: Counts) -> str:
    """Return the fractions of sentences of each kind that were detected as labelled, of those scored once."""
    last = ((kind, [detected for one, detected in counts if one.late and one.kind == kind]) for kind in KINDS)
    rates = (f"{kind} {sum(one.as_labelled for one in mine)} of {len(mine)}" for kind, mine in last if mine)
    return f"detected as labelled, scored once: {', '.join(rates)}"


def _rates(name: str, one: Hearing) -> str:
    rates = (("precision", one.total.precision, one.precision), ("recall", one.total.recall, one.recall))
    return f"{name}: " + ", ".join(f"{rate} {value or 0:.3f} ({low:.2f}..{high:.2f})" for rate, value, (low, high) in rates)


def _between(counts: Sequence[tuple[int, int]]) -> Interval:
    """Return the interval of a rate, from the hits and misses of each task."""
    return rate_interval([[True] * hits + [False] * others for hits, others in counts]) or (0.0, 1.0)


def _deck(task: Task) -> Deck | None:
    try:
        read = read_task(task.world_folder / SCENARIO)
    except (OSError, ValueError):
        return None
    return read if isinstance(read, Deck) else None


@lru_cache(maxsize=256)
def _needed(folder: Path) -> float | None:
    """Return the mean number of necessary facts that a person lacks at first, over deals and people.

    It is None without a certificate.
    """
    try:
        read = read_task(folder / "environment" / "api" / SCENARIO)
        certificate = Certificate.model_validate_json((folder / "tests" / "oracle.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(read, Deck) or not certificate.deals:
        return None
    holders = {card.id: card.holders for card in read.cards}
    return fmean(sum(seat not in holders[card] for card in row.necessary) for row in certificate.deals for seat in read.seats)


MEANS: dict[str, tuple[str, ...]] = {
    "integration": ("integration",),
    "decisive": ("integration_decisive",),
    "uptake": ("uptake",),
    "sib": ("bias", "sib"),
    "sib_excess": ("bias", "sib_excess"),
    "repetition": ("bias", "repetition"),
    "grounded": ("losses", "grounded"),
    "lucky": ("losses", "lucky"),
    "pooling": ("losses", "pooling"),
    "listening": ("losses", "listening"),
    "misled": ("losses", "misled"),
    "honesty": ("honesty",),
    "messages": ("messages",),
    "consensus_messages": ("consensus", "messages"),
}
"""For each column, its path in a verdict's metrics."""

MOVES = ("conformity", "informed", "brave")

_HEAD = titled(player="Player", setup="Set-up", condition="Condition", tasks="Tasks", sessions="Sessions")
_PROCESS = (
    *_HEAD,
    *titled("percent", integration="Integr. %", decisive="Decisive %", uptake="Uptake %", grounded="Grounded %"),
    *titled("percent", lucky="Lucky %", pooling="Pooling loss %"),
    Column("pooling_range", "can be", "interval"),
    Column("listening", "Listening loss %", "percent"),
    Column("listening_range", "can be", "interval"),
    *titled("percent", misled="Misled %", honesty="Honest %"),
    *titled("signed", sib="SIB", sib_excess="SIB - null", repetition="Repetition"),
    *titled("tally", conformity="Conformity", informed="Informed", brave="Brave holds"),
    *titled("rate", lag="Turns to adopt", messages="Messages"),
    Column("source", "Source", shown=False),
)
_CONSENSUS = (
    *_HEAD,
    *titled("tally", reached="Reached", early="Within 2 rounds"),
    Column("median", "Median round", "rate"),
    *titled("tally", right="Right", premature="Premature"),
    Column("consensus_messages", "Messages by then", "rate"),
    Column("rounds", "Round: sessions"),
)
_EARLY = 2
"""The number of rounds within which the paper's groups often agreed."""

_NOTES = (
    "integration: share of private facts told; decisive: of those the proof needs; uptake: told facts repeated by non-holders",
    "1 - Ypost = pooling loss (could not know) - lucky (could not know, was right) + listening loss (could know, was wrong)",
    "misled: wrong, and had heard a fact denied or contradicted; honest: private facts that no holder denied or contradicted",
    "SIB: shared against private facts mentioned, from -1 to 1, and the value that sampling alone would give",
    "turns to adopt: turns from when a seat could prove the right option until the seat stood for this option",
    "moves: how often a seat joined a majority without a new fact, joined with one, or rightly held out, of its opportunities",
)


_CAN_BE = (
    "can be: range if people paraphrase facts; each fact that a person must hear counts as said once, and both rates are "
    "taken at the lower ends of their intervals"
)


_AGREED = "the first round after which all seats had the same last stance; premature: a fact that the proof needs was missing"


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """Return the table of measures, and that of consensus if stances were taken; none without graded sessions."""
    played = [(arm, condition) for arm in arms(evidence) for condition in CONDITIONS if arm.tasks(condition)]
    counts = labelled_counts(evidence.registry.values()) if played else ()
    cues = by_cues(counts, late=True)
    rows = [{**_measured(arm, condition), **_ranges(arm, condition, evidence, cues)} for arm, condition in played]
    marked = standing_notes(arm.standing for arm, _ in played)
    notes = [*_NOTES, *marked, *([_CAN_BE, said_of(counts)] if any("pooling_range" in row for row in rows) else [])]
    if published and rows:
        people = next(row for row in numbers()["study1"] if row["player"] == "people")
        rows.append({"player": "people", "messages": people["messages"], "sessions": people["hidden"], "source": MARK})
        notes.append(source(f"messages of people, section 4.3.1, {people['hidden']} ({people['unit']})"))
    agreed = (row for arm, condition in played if (row := _agreed(arm, condition)))
    return [
        *table_of("process", "Between the votes, hidden-profile", _PROCESS, rows, notes),
        *table_of("consensus", "First consensus, hidden-profile", _CONSENSUS, agreed, (_AGREED, *marked)),
    ]


def value(result: Result, path: Sequence[str]) -> Any:
    """Return the value at a path of a verdict's metrics; None if there is none."""
    at: Any = result.metrics
    for name in path:
        at = (at or {}).get(name)
    return at


def _head(arm: Arm, condition: str) -> dict[str, Value]:
    tasks = arm.tasks(condition)
    sessions = sum(map(len, tasks.values()))
    return {"player": arm.title, "setup": arm.how, "condition": condition, "tasks": len(tasks), "sessions": sessions}


def _measured(arm: Arm, condition: str) -> Row:
    results = [result for mine in arm.tasks(condition).values() for result in mine]
    return {
        **_head(arm, condition),
        **{column: _mean(arm, condition, path) for column, path in MEANS.items() if column != "consensus_messages"},
        **{kind: _taken(results, kind) for kind in MOVES},
        "lag": _lag(results),
        "source": "ours",
    }


def _ranges(arm: Arm, condition: str, evidence: Evidence, cues: Hearing | None) -> Row:
    """Return the ranges of the losses; none if facts are cited, if all seats know everything, or without decks."""
    losses = {name: _mean(arm, condition, MEANS[name]) for name in ("pooling", "listening", "lucky")}
    if cues is None or condition != "hidden" or "track=structured" in arm.setup or None in losses.values():
        return {}
    tasks = [evidence.registry[name] for name in arm.tasks(condition) if name in evidence.registry]
    needed = [count for task in tasks if (count := _needed(task.path)) is not None]
    if not needed:
        return {}
    known = {name: loss or 0.0 for name, loss in losses.items()}
    pooling, listening = losses_between(cues.precision[0], cues.recall[0], needed=fmean(needed), **known)
    return {"pooling_range": pooling, "listening_range": listening}


def _mean(arm: Arm, condition: str, path: Sequence[str]) -> float | None:
    measures = ([value(result, path) for result in mine] for mine in arm.tasks(condition).values())
    known = ([one for one in mine if one is not None] for mine in measures)
    means = [fmean(mine) for mine in known if mine]
    return fmean(means) if means else None


def _taken(results: Sequence[Result], kind: str) -> tuple[int, float] | None:
    """Return the count of a kind of move and its share of the opportunities; None without opportunities."""
    moves = [move_counts for result in results if (move_counts := value(result, ("moves", kind)))]
    taken, chances = (sum(move[part] for move in moves) for part in ("taken", "opportunities"))
    return (taken, taken / chances) if chances else None


def _lag(results: Sequence[Result]) -> float | None:
    """Return the mean number of turns from being able to know the right option to adopting it, over seats that adopted it."""
    seats = [seat for result in results for seat in value(result, ("seats",)) or ()]
    both = [(seat.get("decidable_turn"), seat.get("adopted_turn")) for seat in seats]
    turns = [adopted - able for able, adopted in both if able is not None and adopted is not None]
    return fmean(turns) if turns else None


def _agreed(arm: Arm, condition: str) -> Row | None:
    """Return the columns about the first agreement of structured sessions; None if stances were not taken."""
    results = [result for mine in arm.tasks(condition).values() for result in mine]
    taken = [agreed for result in results if (agreed := value(result, ("consensus",))) is not None]
    if not taken:
        return None
    agreed = [one for one in taken if one["round"] is not None]
    rounds = sorted(one["round"] for one in agreed)
    return {
        **_head(arm, condition),
        "sessions": len(taken),
        "reached": _tally([one["round"] is not None for one in taken]),
        "early": _tally([one["round"] is not None and one["round"] <= _EARLY for one in taken]),
        "median": float(median(rounds)) if rounds else None,
        **{name: _tally([one[name] for one in agreed if one[name] is not None]) for name in ("right", "premature")},
        "consensus_messages": _mean(arm, condition, MEANS["consensus_messages"]),
        "rounds": ", ".join(f"{number}: {count}" for number, count in Counter(rounds).items()) or None,
    }


def _tally(true: Sequence[bool]) -> tuple[int, float] | None:
    return (sum(true), sum(true) / len(true)) if true else None
