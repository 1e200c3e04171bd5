"""What went on between the two votes: pooling, uptake, consensus, giving way, biases, and where accuracy was lost.

1. One row a player, set-up and condition. Each measure is the mean over tasks of the mean over the sessions that have it; the
   rates of moves pool all their opportunities. What no session has is left blank: proofs need a certificate, stances need the
   structured track (specification, 1.4).
2. On the free track losses hang on what the cues heard, so each stands beside what it can be, given how the cues do on labelled
   sentences (`heard`).
3. A second table has the rounds after which all first stood for one option, and what they had said by then (rulings, 3.15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import Any

from harness.families.hidden_profile import heard, standing
from harness.families.hidden_profile.arms import CONDITIONS, Arm, arms
from harness.families.hidden_profile.published import MARK, numbers, source
from harness.records import Result
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table, Value

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
    "messages": ("messages",),
    "consensus_messages": ("consensus", "messages"),
}
"""Column -> where a verdict's metrics have it."""

MOVES = ("conformity", "informed", "brave")

_HEAD = (
    Column("player", "Player"),
    Column("setup", "Set-up"),
    Column("condition", "Condition"),
    Column("tasks", "Tasks"),
    Column("sessions", "Sessions"),
)
_PROCESS = (
    *_HEAD,
    Column("integration", "Integr. %", "percent"),
    Column("decisive", "Decisive %", "percent"),
    Column("uptake", "Uptake %", "percent"),
    Column("grounded", "Grounded %", "percent"),
    Column("lucky", "Lucky %", "percent"),
    Column("pooling", "Pooling loss %", "percent"),
    Column("pooling_range", "can be", "interval"),
    Column("listening", "Listening loss %", "percent"),
    Column("listening_range", "can be", "interval"),
    Column("sib", "SIB", "signed"),
    Column("sib_excess", "SIB - null", "signed"),
    Column("repetition", "Repetition", "signed"),
    Column("conformity", "Conformity", "tally"),
    Column("informed", "Informed", "tally"),
    Column("brave", "Brave holds", "tally"),
    Column("lag", "Turns to adopt", "rate"),
    Column("messages", "Messages", "rate"),
    Column("source", "Source", shown=False),
)
_CONSENSUS = (
    *_HEAD,
    Column("reached", "Reached", "tally"),
    Column("early", "Within 2 rounds", "tally"),
    Column("median", "Median round", "rate"),
    Column("right", "Right", "tally"),
    Column("premature", "Premature", "tally"),
    Column("consensus_messages", "Messages by then", "rate"),
    Column("rounds", "Round: sessions"),
)
_EARLY = 2
"""The rounds within which the paper's groups often agreed."""

_NOTES = (
    "integration: private facts that came to light; decisive: those the proof needs; uptake: told ones repeated by non-holders",
    "1 - Ypost = pooling loss - lucky + listening loss: could not know, did not know and was right, could know and was wrong",
    "SIB: shared against private facts mentioned, -1 to 1, beside what sampling alone would give",
    "turns to adopt: from the turn after which a seat could prove the key to the one in which it stood for it",
    "moves: times a seat gave way to a majority with nothing new, with a new fact, and held out rightly, of its opportunities",
)


_CAN_BE = (
    "can be: if people put facts in their own words; each fact that a person must hear counts as said once, and both rates are "
    "taken at the lower ends of their intervals"
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """The table of measures, and that of consensus where stances were taken; none without graded sessions."""
    played = [(arm, condition) for arm in arms(evidence) for condition in CONDITIONS if arm.tasks(condition)]
    counts = heard.counted(evidence.registry.values())
    cues = heard.by_cues(counts, late=True)
    rows = [{**_measured(arm, condition), **_ranges(arm, condition, evidence, cues)} for arm, condition in played]
    agreed = [row for arm, condition in played if (row := _agreed(arm, condition))]
    marked = standing.notes(arm.standing for arm, _ in played)
    notes = [*_NOTES, *marked]
    if any("pooling_range" in row for row in rows):
        notes += [_CAN_BE, heard.said_of(counts)]
    if published and rows:
        people = next(row for row in numbers()["study1"] if row["player"] == "people")
        rows.append({"player": "people", "messages": people["messages"], "sessions": people["hidden"], "source": MARK})
        notes.append(source(f"messages of people, section 4.3.1, {people['hidden']} ({people['unit']})"))
    measures = [Table("process", "Between the votes, hidden-profile", _PROCESS, tuple(rows), tuple(notes))] if rows else []
    note = (
        "the first round after which every seat last stood for one option; premature: a fact that the proof needs was missing"
    )
    return measures + (
        [Table("consensus", "First consensus, hidden-profile", _CONSENSUS, tuple(agreed), (note, *marked))] if agreed else []
    )


def value(result: Result, path: Sequence[str]) -> Any:
    """What a verdict's metrics have at a path; None where there is nothing."""
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


def _ranges(arm: Arm, condition: str, evidence: Evidence, cues: heard.Hearing | None) -> Row:
    """What the losses can be where facts are told in words alone; nothing where they are cited, or all know everything."""
    losses = {name: _mean(arm, condition, MEANS[name]) for name in ("pooling", "listening", "lucky")}
    if cues is None or condition != "hidden" or "track=structured" in arm.setup or None in losses.values():
        return {}
    tasks = [evidence.registry[name] for name in arm.tasks(condition) if name in evidence.registry]
    known = heard.ranges(cues, tasks, **{name: loss or 0.0 for name, loss in losses.items()})
    if known is None:
        return {}
    pooling, listening = known
    return {"pooling_range": (pooling.low, pooling.high), "listening_range": (listening.low, listening.high)}


def _mean(arm: Arm, condition: str, path: Sequence[str]) -> float | None:
    means = [
        fmean(known)
        for mine in arm.tasks(condition).values()
        if (known := [measure for result in mine if (measure := value(result, path)) is not None])
    ]
    return fmean(means) if means else None


def _taken(results: Sequence[Result], kind: str) -> tuple[int, float] | None:
    """How often a kind of move was made, and of how many opportunities; None where there were none."""
    moves = [move_counts for result in results if (move_counts := value(result, ("moves", kind)))]
    taken, chances = (sum(move[part] for move in moves) for part in ("taken", "opportunities"))
    return (taken, taken / chances) if chances else None


def _lag(results: Sequence[Result]) -> float | None:
    """The mean number of turns from when a seat could know the key until its stance was the key, over seats that got there."""
    seats = [seat for result in results for seat in value(result, ("seats",)) or ()]
    turns = [
        seat["adopted_turn"] - seat["decidable_turn"]
        for seat in seats
        if seat.get("adopted_turn") is not None and seat.get("decidable_turn") is not None
    ]
    return fmean(turns) if turns else None


def _agreed(arm: Arm, condition: str) -> Row | None:
    """When the sessions of a structured track first agreed; None where stances were not taken."""
    consensuses = [
        agreed
        for mine in arm.tasks(condition).values()
        for result in mine
        if (agreed := value(result, ("consensus",))) is not None
    ]
    if not consensuses:
        return None
    rounds = sorted(one["round"] for one in consensuses if one["round"] is not None)
    counted = Counter(rounds)
    return {
        **_head(arm, condition),
        "sessions": len(consensuses),
        "reached": (len(rounds), len(rounds) / len(consensuses)),
        "early": (sum(number <= _EARLY for number in rounds), sum(number <= _EARLY for number in rounds) / len(consensuses)),
        "median": float(median(rounds)) if rounds else None,
        **dict(_shares(consensuses)),
        "consensus_messages": _mean(arm, condition, MEANS["consensus_messages"]),
        "rounds": ", ".join(f"{number}: {counted[number]}" for number in sorted(counted)) or None,
    }


def _shares(consensuses: Sequence[Any]) -> Iterator[tuple[str, tuple[int, float]]]:
    """Of the sessions that agreed, those that agreed on the key, and those that did so too soon."""
    for name in ("right", "premature"):
        known = [one[name] for one in consensuses if one["round"] is not None and one[name] is not None]
        if known:
            yield name, (sum(known), sum(known) / len(known))
