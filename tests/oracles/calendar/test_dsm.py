"""Whole games of DSM in both profiles, and what a seat does with mail that is no message of DSM."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat, TypedClient
from oracles.calendar.protocols.dsm import WELFARE, Dsm, dsm_private, dsm_private_exhaustive, dsm_welfare
from tests.oracles.calendar.reference_cases import play, published
from tests.oracles.calendar.typed_games import turn
from tests.worlds.calendar.dsm_drawings import standing, task
from tests.worlds.calendar.playing import Played
from tests.worlds.calendar.random_tasks import canonical, small
from worlds.calendar.game import Message, RoundOpening, View
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.texts import load_texts

Protocol = Callable[[Seat], TypedClient]
PRESETS = [name for name in PROTOCOLS if name.startswith("dsm-")]
TEXT = Settings()
M1 = Meeting(id=1, participants=(0, 1))


def types(played: Played) -> list[str]:
    """The types of all messages, in order."""
    return [json.loads(note.data["content"])["type"] for note in played.of("message")]


def outcome(played: Played) -> tuple[str, Mapping[str, Any], list[int]]:
    """Label and slots of the only round, and what everybody paid."""
    (end,), (round_,) = played.of("game_end"), played.resolutions
    return round_["label"], round_["slots"], end.data["spent"]


def test_three_presets_are_known_by_name() -> None:
    """The two of the paper, and private with the sub-rounds of its text."""
    assert PRESETS == ["dsm-welfare", "dsm-private", "dsm-private-exhaustive"]


@pytest.mark.parametrize("protocol", [dsm_welfare, dsm_private_exhaustive])
def test_offers_go_on_until_one_suits(protocol: Protocol) -> None:
    """The only common slot is the initiator's last choice; welfare and private-exhaustive both get there."""
    played = play(task([". " * 15 + "2", "B " * 15 + "."], [M1]), Settings(turn_cap=40), protocol)

    assert outcome(played) == ("SUCCESS", {"0": 15, "1": 15}, [2, 0])
    assert types(played).count("proposals") > 1
    assert types(played)[-1] == "decision"


def test_welfare_offers_in_batches_and_private_one_by_one() -> None:
    """Sixteen plans are two offers for welfare and sixteen for private-exhaustive."""
    scenario = task([". " * 16, "B " * 15 + "."], [M1])

    assert types(play(scenario, TEXT, dsm_welfare)).count("proposals") == 2
    assert types(play(scenario, Settings(turn_cap=40), dsm_private_exhaustive)).count("proposals") == 16


def test_private_gives_up_after_one_offer_and_guesses_nothing() -> None:
    """One offer that does not suit, then fail: nothing is scheduled, nothing moved, though slot 1 suits both (ruling 15)."""
    played = play(task(["1 . .", ". B ."], [M1]), TEXT, dsm_private)

    assert types(played) == ["proposals", "scores", "fail"]
    assert outcome(played) == ("NO_SCHEDULE", {"0": None, "1": None}, [0, 0])


def test_an_empty_pool_fails() -> None:
    """When every plan was tried without success the initiator says so, and the round costs nothing."""
    played = play(task([". 1", "B B"], [M1]), TEXT, dsm_welfare)

    assert types(played)[-1] == "fail"
    assert outcome(played) == ("NO_SCHEDULE", {"0": None, "1": None}, [0, 0])


def test_the_cheapest_plan_for_all_wins() -> None:
    """Slot 0 is free for the initiator and dear for the other; slot 1 costs two together and is chosen."""
    assert outcome(play(task(["9 1 . B", ". 1 9 ."], [M1]), TEXT, dsm_welfare)) == ("SUCCESS", {"0": 1, "1": 1}, [1, 1])


def test_a_standing_meeting_makes_room_on_all_its_calendars() -> None:
    """The only slot for M1 has M9 on it; seat 2, no participant, scores and moves M9 in VOLUNTARY along with seat 0."""
    played = play(task([". . B", ". B B", ". . B"], [M1], [standing(9, 0, 0, 2)]), TEXT, dsm_welfare)

    assert outcome(played) == ("SUCCESS", {"0": 0, "1": 0}, [1, 0, 1])
    assert played.resolutions[0]["standing"] == {"9": 1, "1": 0}
    assert [note.data["moves"] for note in played.of("committed")] == [[["M9", 0, 1]], [["M9", 0, 1]], []]
    assert not played.of("batch_rejected")


def test_a_third_party_can_refuse() -> None:
    """Seat 2 has something else where M9 would go, so M9 stays and M1 is not scheduled."""
    played = play(task([". . B", ". B B", ". 1 ."], [M1], [standing(9, 0, 0, 2)]), TEXT, dsm_welfare)

    assert outcome(played) == ("NO_SCHEDULE", {"0": None, "1": None}, [0, 0, 0])
    assert played.resolutions[0]["standing"] == {"9": 0}


def test_a_chain_moves_two_meetings_in_one_round() -> None:
    """M1 takes M8's slot, M8 takes M9's and M9 the free one: seats 2 and 3 move theirs without taking part in M1."""
    rows = [". . .", ". B B", ". . B", "B . ."]
    played = play(task(rows, [M1], [standing(8, 0, 0, 2), standing(9, 1, 0, 3)]), TEXT, dsm_welfare)

    assert outcome(played) == ("SUCCESS", {"0": 0, "1": 0}, [2, 0, 1, 1])
    assert played.resolutions[0]["standing"] == {"8": 1, "9": 2, "1": 0}


def test_a_long_meeting_takes_its_whole_span() -> None:
    """Two slots in a row that both can clear: from 2, where each moves an errand or none."""
    scenario = task([". B 1 . .", "B . . . 1"], [Meeting(id=1, participants=(0, 1), duration=2)])

    assert outcome(play(scenario, TEXT, dsm_welfare)) == ("SUCCESS", {"0": 2, "1": 2}, [1, 0])


def test_a_meeting_of_one_needs_no_message() -> None:
    """The initiator alone takes its best slot."""
    played = play(task(["1 . 1"], [Meeting(id=1, participants=(0,))]), TEXT, dsm_private)

    assert outcome(played) == ("SUCCESS", {"0": 1}, [0])
    assert types(played) == []


@pytest.mark.parametrize("speakers", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_who_speaks_first_does_not_matter(speakers: tuple[int, ...]) -> None:
    """The initiator is the participant with the lowest id in any order of speakers."""
    meeting = Meeting(id=1, participants=(0, 1, 2), speakers=speakers)
    played = play(task([". 1 B", "B 1 .", "1 . ."], [meeting]), TEXT, dsm_welfare)

    assert outcome(played) == ("SUCCESS", {"0": 1, "1": 1, "2": 1}, [1, 1, 0])
    assert sorted(types(played)) == ["decision"] * 2 + ["proposals"] * 2 + ["scores"] * 2


def test_points_flow_and_move_nobody() -> None:
    """Seat 1 told 11, 9, 8: cost 0 + 2 + 3; slot 0 costs it nothing, so nothing is paid back."""
    scenario = task([". . .", ". 2 3"], [M1])
    seats = [Dsm(Seat(agent, 2, 3), WELFARE) for agent in range(2)]
    Played(scenario, TEXT, {seat.me: seat.reply for seat in seats})

    assert [seat.points for seat in seats] == [105, 95]


def test_each_scorer_gets_its_own_record_and_no_other() -> None:
    """A decision carries the record of its reader alone."""
    meeting = Meeting(id=1, participants=(0, 1, 2))
    played = play(task([". 1", "2 .", ". 1"], [meeting]), TEXT, dsm_welfare)
    decisions = [note for note in played.of("message") if json.loads(note.data["content"])["type"] == "decision"]

    records = {note.data["to"][0]: json.loads(note.data["content"])["reward"] for note in decisions}
    assert {reader: record["selected_score"] for reader, record in records.items()} == {1: 9, 2: 11}


def test_the_published_client_announces_what_suits_nobody() -> None:
    """Profile paper: one offer, slot 1 is announced though seat 1 is blocked there, and seat 1 guesses its first open slot."""
    played = play(task(["1 . .", ". B ."], [M1]), published(4), dsm_private)

    assert types(played) == ["proposals", "scores", "decision"]
    assert outcome(played) == ("SLOT_MISMATCH", {"0": 1, "1": 0}, [0, 0])


def test_the_published_client_first_tries_a_slot_that_a_meeting_holds() -> None:
    """Profile paper: M9 stands where M1 was announced, so seat 1 is refused, and its second attempt is its second open slot."""
    played = play(task([". B B B", ". . . ."], [M1], [standing(9, 0, 1)]), published(4), dsm_private)

    assert [note.seat for note in played.of("batch_rejected")] == [1]
    assert outcome(played) == ("SLOT_MISMATCH", {"0": 0, "1": 1}, [0, 0])


def test_the_published_client_is_silent_with_nothing_to_offer() -> None:
    """Profile paper: an initiator without an open slot sends nothing at all, and everybody else guesses."""
    played = play(task(["B B", ". ."], [M1]), published(4), dsm_welfare)

    assert types(played) == []
    assert {note.seat for note in played.of("batch_rejected")} == {0, 1}


def test_only_the_initiator_decides() -> None:
    """A decision that anybody else sends is not followed."""
    scenario = task([". .", ". .", ". ."], [Meeting(id=1, participants=(0, 1, 2))])
    decision = json.dumps({"protocol": "dsm", "type": "decision", "slot": 1, "plan_id": 1, "displacements": []})
    actions = {}
    for sender in (0, 2):
        client = dsm_welfare(Seat(1, 3, 2))
        for phase, text in _texts(scenario, 1, [(sender, decision)]):
            actions[sender] = json.loads(client.reply(turn(phase, text)))["actions"]

    assert actions == {0: [{"type": "schedule", "meeting_id": 1, "slot": 1}], 2: []}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("seed", range(8))
def test_no_batch_is_ever_refused_but_the_empty_one(name: str, seed: int) -> None:
    """What was agreed can be carried out: prior meetings, long ones and blocked cells included, a round stands or is left."""
    for scenario in (small(seed), small(seed + 100), small(seed + 200), canonical(seed)):
        played = play(scenario, TEXT, PROTOCOLS[name])

        assert {kind for note in played.of("batch_rejected") for kind, _ in note.data["conflicts"]} <= {"no_schedule"}
        assert {round_["label"] for round_ in played.resolutions} <= {"SUCCESS", "NO_SCHEDULE"}


ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NUMBER = st.integers(-2, 7) | ANY
SHIFT = st.fixed_dictionaries(
    {
        "meeting_id": NUMBER,
        "from_slot": NUMBER,
        "to_slot": NUMBER,
        "participants": st.lists(st.integers(0, 3), max_size=3) | ANY,
    }
)
PLAN = st.fixed_dictionaries(
    {"id": NUMBER, "plan_id": NUMBER, "slot": NUMBER, "displacements": st.lists(SHIFT, max_size=3) | ANY}
)
LETTER = st.fixed_dictionaries(
    {
        "protocol": st.just("dsm"),
        "type": st.sampled_from(["proposals", "scores", "decision", "fail"]) | ANY,
        "round": st.just(1) | NUMBER,
        "plans": st.lists(PLAN | ANY, max_size=3) | ANY,
        "scores": st.dictionaries(st.sampled_from(["0", "1", "1000", "x", "-1", "²"]), NUMBER) | ANY,
        "plan_id": NUMBER,
        "slot": NUMBER,
        "displacements": st.lists(SHIFT | ANY, max_size=3) | ANY,
        "reward": st.fixed_dictionaries({"scoring_cost": NUMBER, "reward": NUMBER}) | ANY,
    }
)
CONTENT = st.text(max_size=20) | ANY.map(json.dumps) | LETTER.map(json.dumps)


@pytest.mark.property
@given(
    letters=st.lists(st.tuples(st.integers(0, 3), CONTENT), max_size=4),
    seat=st.integers(0, 2),
    profile=st.sampled_from(["text", "paper"]),
    preset=st.sampled_from(PRESETS),
)
def test_garbage_in_the_mail_never_raises(letters: list[tuple[int, str]], seat: int, profile: str, preset: str) -> None:
    """Whatever is written to a seat, in any phase, its reply is an object with a list of actions."""
    scenario = task([". 1 B .", ". . 9 .", "1 . . B"], [M1], [standing(9, 3, 0, 1), standing(8, 1, 1, 2)])
    client = PROTOCOLS[preset](Seat(seat, 3, 4, profile))

    for phase, text in _texts(scenario, seat, letters):
        for attempt in (1, 2, 9):
            reply = json.loads(client.reply(turn(phase, text, attempt)))
            assert isinstance(reply["actions"], list)


def _texts(scenario: Scenario, seat: int, letters: list[tuple[int, str]]) -> list[tuple[str, str]]:
    """What a seat is shown in one round, the letters coming with every turn."""
    view, cells, opened = View(scenario, TEXT, load_texts("calendar", {})), scenario.calendars[seat], scenario.meetings[0]
    mail = [Message(sender, (seat,), "dm", opened.id, content) for sender, content in letters]
    first = (
        view.round_start(seat, RoundOpening(1, 0, ()), opened, cells, 0, mail)
        if seat in opened.participants
        else view.activation(seat, 1, opened, cells, 0, mail)
    )
    return [
        ("CHEAP_TALK", view.turn(opened, 0, mail)),
        ("CHEAP_TALK", first),
        ("CHEAP_TALK", view.turn(opened, 1, mail)),
        ("VOLUNTARY", view.voluntary(seat, opened, cells, mail)),
        ("DECISION", view.decision(seat, RoundOpening(1, 0, ()), opened, cells, mail)),
    ]
