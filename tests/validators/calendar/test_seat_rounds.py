"""Each seat's part in each round, by hand: roles, typed messages and prose, joint moves and lone ones, the schedule's costs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.protocols import PROTOCOLS
from tests.oracles.calendar.typed_games import typed_log
from tests.shipped import SHIPPED
from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.calendar.scripted_games import DECISION, TALK, VOLUNTARY, Script, agreed, dm, logged, move, put
from validators.calendar import assess
from validators.calendar.evidence import is_typed
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import replay
from worlds.calendar.rules.certificate import read_certificate
from worlds.calendar.rules.measures import SeatRoundMeasures
from worlds.calendar.rules.scenario import read_scenario

ASKING = json.dumps({"protocol": "imap", "type": "cost_request", "meeting_id": 1, "slots": [0, 1, 2, 3]})
TELLING = json.dumps({"protocol": "sd", "type": "reply", "meeting_id": 1, "slot": 2, "reply_status": "PENDING"})
CERTIFICATE = {"assignment": {"1": 0, "2": 2}}
"""Slot 0 holds an errand of seat 0 that costs 2 and one of seat 1 that costs 1; both are free in slot 2."""


def parts(folder: Path, script: Script, **options: Any) -> dict[tuple[int, int], SeatRoundMeasures]:
    """Each seat's part in each round of a game."""
    rows = compute_measures(replay(episode_of(logged(folder, script, **options))), read_certificate(CERTIFICATE)).seat_rounds
    return {(row.round, row.seat): row for row in rows}


def test_roles_and_what_the_schedule_costs(tmp_path: Path) -> None:
    """Seat 1 speaks first, seats 2 and 3 take part in nothing; the certificate's slots cost 2 and 1, then nothing."""
    rows = parts(tmp_path, {**agreed(1, 2), **agreed(2, 3)})

    assert [rows[1, seat].role for seat in range(4)] == ["participant", "first", "outsider", "outsider"]
    assert [rows[1, seat].oracle_cost for seat in range(4)] == [2, 1, None, None]
    assert [rows[2, seat].oracle_cost for seat in range(4)] == [0, 0, None, None]


def test_prose_is_told_from_typed_messages(tmp_path: Path) -> None:
    """Of three messages two are typed; the reply tells seat 0 that slot 2 is free, which moves its belief by one half."""
    talk = {(TALK, 1, 1): [[dm(0, ASKING), dm(0, TELLING), dm(0, "I am free at 2.")]]}
    row = parts(tmp_path, {**talk, **agreed(1, 2), **agreed(2, 3)})[1, 1]

    assert (row.messages, row.prose, row.vps) == (3, 1, 0.5)


def test_outsider_that_moves_something(tmp_path: Path) -> None:
    """Seat 2 is written to and moves its errand, which costs 4: one move of an outsider."""
    asked = {(TALK, 1, 1): [[dm(2, "please")]], (VOLUNTARY, 1, 2): [[move(5, 2, 3)]]}
    row = parts(tmp_path, {**asked, **agreed(1, 2), **agreed(2, 3)})[1, 2]

    assert (row.role, row.moves, row.cost, row.moved) == ("outsider", 1, 4, ())


def test_meeting_moved_by_all_is_joint_and_by_one_alone(tmp_path: Path) -> None:
    """Both participants put M1 from slot 2 to 3 and schedule M2 in its place; then only one of them does, and it breaks."""
    both: Script = {**agreed(1, 2), **{(DECISION, 2, seat): [[put(2, 2), _again(1, 2, 3)]] for seat in (0, 1)}}
    one: Script = {**agreed(1, 2), (DECISION, 2, 0): [[put(2, 2), _again(1, 2, 3)]], (DECISION, 2, 1): [[put(2, 3)]]}
    joint, alone = parts(tmp_path / "both", both), parts(tmp_path / "one", one)

    assert [(joint[2, seat].moved, joint[2, seat].alone) for seat in (0, 1)] == [((1,), ()), ((1,), ())]
    assert [(alone[2, seat].moved, alone[2, seat].alone) for seat in (0, 1)] == [((1,), (1,)), ((), ())]


def _again(meeting: int, source: int, target: int) -> dict[str, Any]:
    return {**move(meeting, source, target), "item_id": f"M{meeting}"}


def test_rounds_that_were_not_reached_have_rows(tmp_path: Path) -> None:
    """A game that ends in its first round has a row for every seat of both."""
    found = assess(episode_of(logged(tmp_path, agreed(1, 2), turns=1))).metrics["seat_rounds"]

    assert [(row["round"], row["seat"]) for row in found] == [(number, seat) for number in (1, 2) for seat in range(4)]
    assert {row["oracle_cost"] for row in found} == {None}


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        (ASKING, True),
        (TELLING, True),
        ('{"protocol": "dsm", "type": "scores", "scores": {"3": 11, "40001": 0}, "round": 1}', True),
        ("I am free at 7, 9 and 13.", False),
        ("", False),
        ("[1]", False),
        ('{"protocol": "imap", "type": "hello"}', False),
        ('{"protocol": ["imap"], "type": "costs"}', False),
        ('{"protocol": "imap", "type": "costs", "costs": {"3": 0}, "note": "free at 7"}', False),
        ('{"protocol": "imap", "type": "costs", "I am free at": 7}', False),
        ('{"protocol": "imap", "type": "costs", "slots": ["seven"]}', False),
        ('{"protocol": "imap", "type": "costs", "slots": "\\u0066ree"}', False),
    ],
)
def test_typed_messages_hold_no_other_words(content: str, typed: bool) -> None:
    """One object of a known protocol and type, in which every text is the protocol's own or a number."""
    assert is_typed(content) is typed


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_protocols_write_no_prose_and_parts_add_up(tmp_path: Path, protocol: str) -> None:
    """What a protocol sends is typed; messages, costs and slots told add up to the seat's, the schedule's costs to its own."""
    task = next(task for task in SHIPPED if task.task_id == "varied-07")
    scenario = read_scenario(task.world_folder / "scenario.json")
    certificate = read_certificate(json.loads((task.path / "tests" / "oracle.json").read_bytes()))
    found = compute_measures(replay(episode_of(typed_log(tmp_path, scenario, protocol))), certificate)
    sums: dict[str, Counter[int]] = {name: Counter() for name in ("messages", "cost", "vps", "oracle_cost", "prose")}
    for row in found.seat_rounds:
        for name, counter in sums.items():
            counter[row.seat] += getattr(row, name) or 0

    for seat in found.seats:
        assert (sums["messages"][seat.seat], sums["cost"][seat.seat]) == (seat.messages, seat.cost)
        assert sums["vps"][seat.seat] == pytest.approx(seat.vps)
    assert sum(sums["prose"].values()) == 0
    assert tuple(sums["oracle_cost"][seat] for seat in range(5)) == certificate.per_agent
