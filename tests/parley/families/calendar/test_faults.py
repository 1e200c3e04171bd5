"""Whose failure a round is: in games in which exactly one seat does wrong, the verdict names that seat and its turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from parley.families.calendar.reading import fault_sentence
from tests.worlds.calendar.hostile_games import Seat, folder_of, play
from tests.worlds.calendar.scripted_games import DECISION, TALK, VOLUNTARY, dm, move, put
from validators.calendar import assess
from validators.calendar.replay import CAUSES
from validators.episode import Episode
from worlds.calendar.labels import Label
from worlds.calendar.rules.measures import RoundMeasures
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.core.events import Turned, read_log
from worlds.core.turns import OpenTurn

SEATS = (0, 1, 2)
SCENARIO = Scenario(
    slots=6,
    errands=tuple(
        (Errand(slot=0, id=2 * seat + 1, cost=1, blocked=True), Errand(slot=1, id=2 * seat + 2, cost=1)) for seat in range(4)
    ),
    meetings=tuple(Meeting(id=number, participants=SEATS, speakers=SEATS) for number in (1, 2, 3)),
)  # fmt: skip
"""Slot 0 holds a blocked errand and slot 1 one that can be moved, at every seat; seat 3 takes part in nothing."""

Said = Sequence[Any] | str
Deeds = Mapping[tuple[str, int, int], Sequence[Said]]
"""Phase, round and seat -> its replies; the last one is repeated."""


class Deed(NamedTuple):
    """What the one seat does in round 2, where all others agree."""

    label: Label
    cause: str
    sentence: str
    replies: Sequence[Any]
    """In a decision of a seat s, `s` stands for the ids of its errands."""

    options: Mapping[str, Any] = {}


def errands(seat: int) -> tuple[str, str]:
    """The blocked errand of a seat and the other one."""
    return f"#{2 * seat + 1}", f"#{2 * seat + 2}"


DEEDS = {
    "other slot": Deed(Label.SLOT_MISMATCH, "other_slot", "chose slot 4, the others slot 3", [[put(2, 4)]]),
    "blocked": Deed(Label.BLOCKED_ITEM, "refused", "moved a blocked errand", [[put(2, 3), move("BLOCKED", 0, 5)]]),
    "doom": Deed(
        Label.BLOCKED_ITEM, "touched_blocked", "tried to move a blocked errand",
        [[put(2, 3), move("BLOCKED", 0, 5)], [put(2, 3)]], {"blocked_attempts": "doom"},
    ),
    "nothing": Deed(Label.NO_SCHEDULE, "refused", "never scheduled it", [[]]),
    "rollback": Deed(Label.NO_SCHEDULE, "refused", "never scheduled it", [[]], {"exhausted": "rollback"}),
    "prose": Deed(Label.NO_SCHEDULE, "unreadable", "could not be read", ["Let us take slot 3."]),
    "forfeit": Deed(Label.NO_SCHEDULE, "no_reply", "sent no decision: no answer came in time", ["!"]),
    "prior": Deed(Label.PRIOR_MEETING_MOVED, "moved_meeting", "moved meeting M1 to slot 5", [[put(2, 3), move("M1", 2, 5)]]),
    "occupied": Deed(Label.SLOT_OCCUPIED, "refused", "onto an item that stayed", [[put(2, 1)]]),
    "target": Deed(Label.TARGET_OCCUPIED, "refused", "onto another that stayed", [[put(2, 3), move("OTHER", 1, 0)]]),
    "several": Deed(Label.SEVERAL, "refused", "refused (no_schedule, blocked)", [[move("BLOCKED", 0, 5)]]),
    "beyond": Deed(Label.OTHER, "refused", "refused (out_of_range)", [[put(2, 99)]]),
}  # fmt: skip


def test_every_label_has_a_deed() -> None:
    """The table of causes has all labels, and each failure is played below."""
    assert set(CAUSES) == set(Label)
    assert {deed.label for deed in DEEDS.values()} == set(Label) - {Label.SUCCESS}


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("name", DEEDS)
def test_one_seat_at_fault_is_named_alone(name: str, seat: int, tmp_path: Path) -> None:
    """The round's fault is that seat's, with a cause that its label can have, and its turn is that seat's last decision."""
    deed = DEEDS[name]
    game = played(tmp_path, {(DECISION, 2, seat): [_own(reply, seat) for reply in deed.replies]}, **deed.options)
    row = game.rounds[1]
    (fault,) = row.faults
    decisions = [turn for turn in game.turns if (turn.seat, turn.phase, turn.round) == (seat, DECISION, 2)]
    blamed = decisions[0] if deed.cause == "touched_blocked" else decisions[-1]

    assert (row.label, row.coordinated) == (deed.label, False)
    assert (fault.seat, fault.cause, fault.turn) == (seat, deed.cause, blamed.seq)
    assert fault.cause in CAUSES[deed.label]
    assert fault_sentence(row, {seat: f"seat {seat} (m)"}).startswith(f"seat {seat} (m) ")
    assert deed.sentence in fault_sentence(row, {})
    assert game.detail["faults"][0]["seat"] == seat
    assert game.rounds[0].faults == game.rounds[2].faults == ()


def test_an_outsider_that_dooms_a_round_is_named(tmp_path: Path) -> None:
    """Where one attempt on a blocked errand fails a round, it is the seat's that tried, though it took no part."""
    said: Deeds = {(TALK, 2, 0): [[dm(3)], []], (VOLUNTARY, 2, 3): [[move("#7", 0, 5)], []]}
    (fault,) = played(tmp_path, said, blocked_attempts="doom").rounds[1].faults

    assert (fault.seat, fault.cause) == (3, "touched_blocked")


def test_without_a_majority_all_who_chose_are_named_as_one(tmp_path: Path) -> None:
    """Three seats in three slots: the rules do not say who was wrong, and the sentence says so."""
    row = played(tmp_path, {(DECISION, 2, seat): [[put(2, 3 + seat)]] for seat in SEATS}).rounds[1]

    assert [(fault.seat, fault.cause) for fault in row.faults] == [(seat, "different_slots") for seat in SEATS]
    assert fault_sentence(row, {}).endswith("the rules do not say which of them was wrong")


def test_who_moved_a_meeting_together_is_not_named_with_who_went_elsewhere(tmp_path: Path) -> None:
    """Where all participants moved a meeting, it is the one that put it into another slot than the others."""
    said = {(DECISION, 2, seat): [[put(2, 3), move("M1", 2, 4 if seat != 1 else 5)]] for seat in SEATS}
    (fault,) = played(tmp_path, said).rounds[1].faults

    assert (fault.seat, fault.cause, fault.meeting, fault.detail) == (1, "moved_meeting", 1, "5")


def test_a_meeting_left_apart_is_still_its_movers_fault_a_round_later(tmp_path: Path) -> None:
    """Where failed rounds are kept, the next one fails by the move of the round before, and its turn is marked."""
    game = played(tmp_path, {(DECISION, 2, 2): [[put(2, 3), move("M1", 2, 5)]]}, failed_rounds="keep")
    second, third = game.rounds[1].faults, game.rounds[2].faults

    assert [row.label for row in game.rounds] == ["SUCCESS", *["PRIOR_MEETING_MOVED"] * 2]
    assert second == third
    assert [fault.seat for fault in third] == [2]


class Game(NamedTuple):
    """A finished game."""

    rounds: tuple[RoundMeasures, ...]
    turns: list[Turned]
    detail: Mapping[str, Any]


def played(folder: Path, said: Deeds, **options: Any) -> Game:
    """A game in which all agree on slot 2, 3 and 4 in turn, but for what is `said`."""
    log = play(folder_of(folder, SCENARIO), _seat(said), options).log.dump()
    events = tuple(read_log(log))
    verdict = assess(Episode(events))
    assert verdict.metrics["lies"] == 0
    rounds = tuple(RoundMeasures.model_validate(row) for row in verdict.metrics["rounds"])
    return Game(rounds, [event for event in events if isinstance(event, Turned)], verdict.failure_detail)


def _seat(said: Deeds) -> Seat:
    def reply(turn: OpenTurn) -> str:
        agreed: Said = [put(turn.round, turn.round + 1)] if turn.phase == DECISION else []
        replies = said.get((turn.phase, turn.round, turn.seat), [agreed])
        chosen = replies[min(turn.attempt, len(replies)) - 1]
        if turn.phase == TALK:
            # a message in the first sweep alone, so that the talk ends
            chosen = replies[0] if "=== ROUND" in turn.text else []
        return chosen if isinstance(chosen, str) else _json(chosen)

    return reply


def _json(actions: Sequence[Any]) -> str:
    return json.dumps({"actions": actions})


def _own(reply: Any, seat: int) -> Any:
    """The reply with the seat's own errands."""
    if isinstance(reply, str):
        return reply
    names = dict(zip(("BLOCKED", "OTHER"), errands(seat), strict=True))
    return [{key: names.get(value, value) if isinstance(value, str) else value for key, value in one.items()} for one in reply]
