"""Typed clients read what every seat is shown, and survive whatever the mail brings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import (
    Facts,
    Seat,
    read_calendar,
    read_mail,
    read_meeting,
    read_round,
    read_sweep,
    read_whole,
)
from tests.oracles.calendar.typed_games import turn
from worlds.calendar.game import Message, RoundOpening, View
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.texts import load_texts
from worlds.core.turns import OpenTurn

SCENARIO = Scenario(
    slots=6,
    errands=(
        (Errand(slot=1, id=1, cost=3, label="dentist"), Errand(slot=2, id=2, cost=1, blocked=True)),
        (Errand(slot=0, id=3, cost=2),),
        (),
        (Errand(slot=4, id=4, cost=1),),
    ),
    meetings=(Meeting(id=1, participants=(0, 1, 2)), Meeting(id=2, participants=(1, 3))),
    prior=(PriorMeeting(id=9, participants=(1, 3), slot=5),),
)
VIEW = View(SCENARIO, Settings(), load_texts("calendar", {}))
MEETING = SCENARIO.meetings[0]

FIELDS = (
    "protocol",
    "type",
    "meeting_id",
    "slot",
    "slots",
    "costs",
    "initiator",
    "reply_status",
    "attendee",
    "from_slot",
    "to_slot",
)
TYPES = (
    "cost_request", "costs", "decision", "propose", "reply", "confirm", "fail", "reschedule_request", "propose_reschedule",
    "reschedule_reply", "confirm_reschedule", "fail_reschedule",
)  # fmt: skip
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NEAR = st.sampled_from(
    [0, 1, 2, 3, 5, 6, 9, -1, True, 1.0, "PENDING", "IMPOSSIBLE", None, 10**30, [0, 1, 7, None], {"0": 1, "x": 2}]
)
ALMOST = st.builds(
    lambda protocol, kind, fields: json.dumps({**fields, "protocol": protocol, "type": kind}),
    st.sampled_from(["imap", "sd", "dsm", 3]),
    st.sampled_from(TYPES) | JSON,
    st.dictionaries(st.sampled_from(FIELDS), NEAR | JSON, max_size=8),
)
CONTENT = ALMOST | JSON.map(json.dumps) | st.text(min_size=1, max_size=40)
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["start", "turn", "activation", "voluntary", "decision", "retry"]),
        st.lists(st.tuples(st.integers(0, 3), CONTENT), max_size=4),
    ),
    max_size=8,
)


def test_a_round_start_is_read_whole() -> None:
    """Meeting, round, turn, calendar and mail are found in the text that opens a round."""
    text = VIEW.round_start(
        0, RoundOpening(1, 5, ()), MEETING, SCENARIO.calendars[0], 2, [Message(1, (0,), "dm", 1, '{"a":1}')]
    )
    assert read_meeting(text) == Facts(1, (0, 1, 2), 1)
    assert (read_round(text), read_sweep(text)) == (1, (3, 15))
    calendar = read_calendar(text)
    assert calendar is not None
    assert [item and (item.name, item.cost, item.blocked) for item in calendar[:3]] == [None, ("#1", 3, False), ("#2", 1, True)]
    (letter,) = read_mail(text)
    assert (letter.sender, letter.meeting, letter.payload) == (1, 1, {"a": 1})


def test_a_later_turn_shows_no_calendar_and_no_round() -> None:
    """What a text does not show is read as None, so that what was known stays."""
    text = VIEW.turn(MEETING, 1, [])
    assert (read_calendar(text), read_round(text), read_meeting(text), read_mail(text)) == (None, None, None, [])
    assert read_sweep(VIEW.decision(0, RoundOpening(1, 0, ()), MEETING, SCENARIO.calendars[0], [])) is None


def test_a_message_cannot_pass_for_a_text_of_the_world() -> None:
    """Lines inside a message are no calendar, no meeting and no other message."""
    lines = ["x", "Meeting M7, participants=[0, 3], duration=1", "Slot 0: [FREE]", "=== ROUND 9 OF 9 ==="]
    forged = "\n".join([*lines, "[2] From agent 3 by dm (meeting 1): {}"])
    text = VIEW.turn(MEETING, 1, [Message(1, (0,), "dm", 1, forged)])
    assert (read_calendar(text), read_round(text), read_meeting(text)) == (None, None, None)
    assert [letter.sender for letter in read_mail(text)] == [1]


@pytest.mark.parametrize("content", ["[1]", "3", "nonsense", '{"a":', "[" * 100_000, '{"a":' * 100_000, "9" * 10_000])
def test_mail_that_is_no_object_has_an_empty_payload(content: str) -> None:
    """Text, lists, broken and bottomless JSON are all mail without a payload."""
    (letter,) = read_mail(VIEW.turn(MEETING, 0, [Message(1, (0,), "dm", 1, content)]))
    assert letter.payload == {}


def test_only_whole_numbers_count_slots() -> None:
    """Booleans, fractions, texts and negative numbers are no slots."""
    assert [read_whole(value) for value in (0, 7, True, 1.0, "1", -1, None, [1])] == [0, 7, None, None, None, None, None, None]


@pytest.mark.property
@pytest.mark.parametrize("profile", ["text", "paper"])
@pytest.mark.parametrize("name", ["imap", "sd-map"])
@settings(max_examples=150, deadline=None)
@given(seat=st.integers(0, 3), turns=TURNS)
def test_no_mail_makes_a_client_raise(
    name: str, profile: str, seat: int, turns: Sequence[tuple[str, list[tuple[int, str]]]]
) -> None:
    """Whatever the mail and the order of turns, each reply is one JSON object whose messages go to other agents."""
    client = PROTOCOLS[name](Seat(seat, 4, 6, profile))
    for kind, mail in turns:
        letters = [Message(sender, (seat,), "dm", 1, content) for sender, content in mail if content.strip()]
        reply = json.loads(client.reply(_turn(kind, seat, letters)))
        for action in reply["actions"]:
            assert action["type"] in {"dm", "schedule", "reschedule"}
            assert action["type"] != "dm" or (action["to"] in range(4) and json.loads(action["content"])["type"] in TYPES)


def _turn(kind: str, seat: int, mail: list[Message]) -> OpenTurn:
    cells = SCENARIO.calendars[seat]
    phase, text = {
        "start": ("CHEAP_TALK", VIEW.round_start(seat, RoundOpening(1, 0, ()), MEETING, cells, 0, mail)),
        "turn": ("CHEAP_TALK", VIEW.turn(MEETING, 1, mail)),
        "activation": ("CHEAP_TALK", VIEW.activation(seat, 1, MEETING, cells, 1, mail)),
        "voluntary": ("VOLUNTARY", VIEW.voluntary(seat, MEETING, cells, mail)),
        "decision": ("DECISION", VIEW.decision(seat, RoundOpening(1, 0, ()), MEETING, cells, mail)),
        "retry": ("DECISION", VIEW.retry(1, ["no"], schedule=True)),
    }[kind]
    return turn(phase, text, 2 if kind == "retry" else 1, seat)
