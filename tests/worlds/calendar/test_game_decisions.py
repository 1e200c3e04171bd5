"""What commits at the end of a round: refused batches, failed rounds, seats that never decide, earlier meetings that move."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from tests.worlds.calendar.playing import Played
from tests.worlds.calendar.small_game import AGREED, SCENARIO, decide, dm, say, scripted, settings
from worlds.core.turns import OpenTurn


def test_refused_batch_may_be_sent_again() -> None:
    """A retry tells what was wrong; as many as the option says; the last one counts."""

    def clumsy(turn: OpenTurn) -> str:
        if turn.seat != 0 or turn.round != 1:
            return decide(turn, AGREED)
        return say({"type": "schedule", "meeting_id": 1, "slot": 3}) if turn.attempt == 3 else say()

    played = Played(SCENARIO, settings(decision_retries=2), scripted(DECISION=clumsy))
    texts = [turn.text for turn in played.turns if (turn.seat, turn.phase, turn.round) == (0, "DECISION", 1)]

    assert [row["label"] for row in played.resolutions] == ["SUCCESS"] * 3
    assert ["Expected exactly 1 schedule action, got 0" in text for text in texts] == [False, True, True]


def test_prose_for_a_batch_is_said_to_be_unreadable() -> None:
    """Who sends words in DECISION is told the cause, and not that an action is missing."""

    def chatty(turn: OpenTurn) -> str:
        if turn.seat != 0 or turn.round != 1:
            return decide(turn, AGREED)
        return say({"type": "schedule", "meeting_id": 1, "slot": 3}) if turn.attempt == 2 else "slot 3, then"

    played = Played(SCENARIO, settings(), scripted(DECISION=chatty))
    texts = [turn.text for turn in played.turns if (turn.seat, turn.phase, turn.round) == (0, "DECISION", 1)]

    assert ["could not be read as one JSON object" in text for text in texts] == [False, True]
    assert [row["label"] for row in played.resolutions] == ["SUCCESS"] * 3


@pytest.mark.parametrize(("failed", "spent"), [("undo", [0, 0, 0, 0]), ("keep", [2, 0, 0, 0])])
def test_failed_round_is_undone_or_kept(failed: str, spent: list[int]) -> None:
    """Two different slots fail the round: with `undo` nothing stays, with `keep` the moved errand does, and pays again."""
    apart = scripted(DECISION=lambda turn: decide(turn, {**AGREED, 1: 0 if turn.seat == 0 else 3}))
    played = Played(SCENARIO, settings(failed_rounds=failed), apart)

    assert [row["label"] for row in played.resolutions] == ["SLOT_MISMATCH", "SUCCESS", "SUCCESS"]
    assert played.resolutions[0]["slots"] == {"0": 0, "1": 3}
    assert played.of("game_end")[0].data["spent"] == spent


@pytest.mark.parametrize(("exhausted", "kept"), [("others_commit", [3, None]), ("rollback", [None, None])])
def test_exhausted_seat(exhausted: str, kept: list[int | None]) -> None:
    """Where one seat never sends a valid batch the others' commit, or nobody's; the round fails either way."""
    mute = scripted(DECISION=lambda turn: say() if (turn.seat, turn.round) == (1, 1) else decide(turn, AGREED))
    played = Played(SCENARIO, settings(exhausted=exhausted, failed_rounds="keep"), mute)

    assert played.resolutions[0]["label"] == "NO_SCHEDULE"
    assert list(played.resolutions[0]["slots"].values()) == kept


@pytest.mark.parametrize(("blocked", "label"), [("retry", "SUCCESS"), ("doom", "BLOCKED_ITEM")])
def test_blocked_attempt(blocked: str, label: str) -> None:
    """A corrected batch is as good as a first one, or a touched blocked item dooms the round."""

    def touchy(turn: OpenTurn) -> str:
        if (turn.seat, turn.round, turn.attempt) != (0, 1, 1):
            return decide(turn, AGREED)
        move = {"type": "reschedule", "item_id": 3, "from_slot": 5, "to_slot": 2, "justification": "room"}
        return say({"type": "schedule", "meeting_id": 1, "slot": 5}, move)

    played = Played(SCENARIO, settings(blocked_attempts=blocked), scripted(DECISION=remembering(touchy)))

    assert played.resolutions[0]["label"] == label


def remembering(first: Callable[[OpenTurn], str]) -> Callable[[OpenTurn], str]:
    """Decides by `first`; a retry, which shows no calendar, is decided by the plan on the calendar of the first attempt."""
    seen: dict[tuple[int, int], OpenTurn] = {}

    def reply(turn: OpenTurn) -> str:
        if turn.attempt > 1:
            return decide(seen[turn.seat, turn.round], AGREED)
        seen[turn.seat, turn.round] = turn
        return first(turn)

    return reply


def moves_old(target: Mapping[int, int]) -> Callable[[OpenTurn], str]:
    """Seats that in round 3 move the meeting of round 1 (slot 3) to their own `target`, whatever their phase."""

    def reply(turn: OpenTurn) -> str:
        actions = json.loads(decide(turn, AGREED))["actions"] if turn.phase == "DECISION" else []
        if turn.round == 3 and turn.seat in target:
            move = {"item_id": "M1", "from_slot": 3, "to_slot": target[turn.seat], "justification": "room"}
            actions.append({"type": "reschedule", **move})
        return say(*actions)

    return reply


def write_to_one(turn: OpenTurn) -> str:
    """In round 3, where seat 1 takes no part, seat 0 writes to it once."""
    return say(dm(1, "please")) if turn.round == 3 and turn.seat == 0 and "ROUND" in turn.text else say()


@pytest.mark.parametrize("voluntary", ["staged", "immediate"])
@pytest.mark.parametrize("target", [{0: 4, 1: 1}, {0: 4}, {1: 1}])
def test_earlier_meeting_moved_apart_fails_the_round(voluntary: str, target: dict[int, int]) -> None:
    """Moved to two slots, or by one of its participants alone, it does not stand, and nobody's new meeting counts."""
    moving = moves_old(target)
    played = Played(SCENARIO, settings(voluntary=voluntary), scripted(write_to_one, DECISION=moving, VOLUNTARY=moving))

    assert (played.resolutions[2]["label"], played.resolutions[2]["broken"]) == ("PRIOR_MEETING_MOVED", [1])


def test_earlier_meeting_moved_to_one_slot_stands() -> None:
    """Slot 5 is blocked for seat 0 and slot 4 taken for seat 1, so both go to slot 0 after clearing it."""

    def reply(turn: OpenTurn) -> str:
        if turn.round != 3 or turn.seat > 1:
            return decide(turn, AGREED) if turn.phase == "DECISION" else say()
        errand, free = ((1, 4), (11, 1))[turn.seat]
        own = [
            {"type": "reschedule", "item_id": errand, "from_slot": 0, "to_slot": free, "justification": "room"},
            {"type": "reschedule", "item_id": "M1", "from_slot": 3, "to_slot": 0, "justification": "room"},
        ]
        return say(*(json.loads(decide(turn, AGREED))["actions"] if turn.phase == "DECISION" else []), *own)

    played = Played(SCENARIO, settings(), scripted(write_to_one, DECISION=reply, VOLUNTARY=reply))

    assert played.resolutions[2]["label"] == "SUCCESS"
    assert played.resolutions[2]["standing"] == {"1": 0, "2": 4, "3": 2}
    assert played.of("game_end")[0].data["spent"] == [2, 11, 0, 0]


def test_broken_meeting_fails_later_rounds_until_repaired() -> None:
    """With `keep`, what one round broke is broken in the next one too."""
    played = Played(
        SCENARIO.model_copy(update={"meetings": (*SCENARIO.meetings[:1], *SCENARIO.meetings[2:], SCENARIO.meetings[1])}),
        settings(failed_rounds="keep"),
        scripted(DECISION=_alone),
    )

    assert [row["broken"] for row in played.resolutions] == [[], [1], [1]]


def _alone(turn: OpenTurn) -> str:
    actions = json.loads(decide(turn, {1: 3, 2: 2, 3: 4}))["actions"]
    if turn.round == 2 and turn.seat == 0:
        actions.append({"type": "reschedule", "item_id": "M1", "from_slot": 3, "to_slot": 4, "justification": "room"})
    return say(*actions)
