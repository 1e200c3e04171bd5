"""Event streams: folded as told, and full of what a careless fold gets wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.ledger import BATCH, SIGNS, TYPES, Event, draw_challenge, draw_events, fold
from worlds.core.chance import Stream

STREAM = [
    {"seq": 2, "type": "credit", "amount": 100},
    {"seq": 3, "type": "debit", "amount": 30},
    {"seq": 5, "type": "correction", "of": 2, "delta": 7},
    {"seq": 6, "type": "credit", "amount": 1000},
    {"seq": 7, "type": "correction", "of": 3, "delta": 5},
    {"seq": 9, "type": "void", "of": 6},
    {"seq": 10, "type": "correction", "of": 2, "delta": -2},
    {"seq": 11, "type": "correction", "of": 6, "delta": 50},
]


def drawn(seed: int, count: int = 20, batches: int = 5) -> list[Event]:
    """The stream of a seed."""
    return draw_events(Stream("key", "task", seed, "events"), count, batches)


def test_fold() -> None:
    """Corrections add up, a debit's works against the balance, a voided entry counts nothing, whatever comes later."""
    folded = fold(STREAM)

    assert folded.balance == 100 + 7 - 2 - (30 + 5)
    assert folded.amounts == {2: 105, 3: 35, 6: 0}
    assert folded.counts == {"credit": 2, "debit": 1, "correction": 4, "void": 1}


def test_empty() -> None:
    """Nothing comes to nothing."""
    assert fold([]).balance == 0


@given(st.integers(0, 10**6), st.integers(12, 40), st.integers(0, 6))
def test_streams_are_well_formed(seed: int, count: int, batches: int) -> None:
    """As long as asked for, in growing order, each reference to an earlier entry, none voided twice."""
    events = drawn(seed, count, batches)
    entries = {event["seq"]: place for place, event in enumerate(events) if event["type"] in SIGNS}
    voided = [event["of"] for event in events if event["type"] == "void"]

    assert count + BATCH * batches == len(events)
    assert all(one["seq"] < other["seq"] for one, other in pairwise(events))
    assert all(entries[event["of"]] < place for place, event in enumerate(events) if "of" in event)
    assert len(set(voided)) == len(voided)
    assert {event["type"] for event in events} == set(TYPES)
    assert len({event["id"] for event in events}) == len(events)


@pytest.mark.parametrize(("count", "corrections", "voids"), [(12, 3, 1), (20, 5, 2), (40, 10, 4)])
def test_a_quarter_corrects_and_a_tenth_voids(count: int, corrections: int, voids: int) -> None:
    """Before the batches; each of these brings one of both."""
    counts, more = fold(drawn(0, count, 0)).counts, fold(drawn(0, count, 5)).counts

    assert (corrections, voids) == (counts["correction"], counts["void"])
    assert (corrections + 5, voids + 5) == (more["correction"], more["void"])


def without(events: list[Event], wanted: Callable[[Event], bool]) -> list[Event]:
    """The events but some."""
    return [event for event in events if not wanted(event)]


def overwritten(events: list[Event]) -> list[Event]:
    """Only the last correction of each entry."""
    last = {event["of"]: event["seq"] for event in events if event["type"] == "correction"}
    return without(events, lambda event: event["type"] == "correction" and last[event["of"]] != event["seq"])


def unsigned(events: list[Event]) -> list[Event]:
    """Deltas added to the balance, whatever they correct."""
    debits = {event["seq"] for event in events if event["type"] == "debit"}
    return [
        {**event, "delta": -event["delta"]} if event.get("of") in debits and "delta" in event else event for event in events
    ]


@given(st.integers(0, 2000))
@pytest.mark.parametrize(
    "careless",
    [
        lambda events: without(events, lambda event: event["type"] == "correction"),
        lambda events: without(events, lambda event: event["type"] == "void"),
        overwritten,
        unsigned,
    ],
)
def test_careless_folds_differ(careless: Callable[[list[Event]], list[Event]], seed: int) -> None:
    """Each usual mistake shows in the balance of the first twenty events already."""
    events: Any = drawn(seed, batches=0)

    assert fold(events).balance != fold(careless(events)).balance


@given(st.integers(0, 2000))
def test_challenges_ask_for_what_changed(seed: int) -> None:
    """Four different entries, some of which are not worth what they first said."""
    events = drawn(seed, batches=0)
    asked = draw_challenge(Stream("key", "task", seed, "challenge"), events)
    said = {event["seq"]: event["amount"] for event in events if event["type"] in SIGNS}

    assert len(set(asked)) == 4
    assert sum(said[seq] != fold(events).amounts[seq] for seq in asked) >= 2


def test_corrections_go_both_ways_and_stay_small() -> None:
    """None changes an entry by more than 999, the smallest entry being 1000."""
    deltas = [event["delta"] for seed in range(40) for event in drawn(seed, count=40) if "delta" in event]

    assert max(abs(delta) for delta in deltas) <= 999
    assert {delta > 0 for delta in deltas} == {True, False}


def test_shorter_streams_are_refused() -> None:
    """There would be nothing to refer to."""
    with pytest.raises(ValueError, match=r"^a stream begins with at least 12 events, not 11$"):
        drawn(0, count=11)
