"""Whatever seats send that the rules do not allow, and under whatever rules, a log that the world wrote has no lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.calendar.scripted_games import (
    DECISION,
    SCENARIO,
    TALK,
    VOLUNTARY,
    Script,
    agreed,
    broken,
    dm,
    logged,
    move,
    put,
)
from validators.calendar.metrics import meeting_rows
from validators.calendar.replay import find_impossible_changes, find_lies, replay
from worlds.calendar.rules.batch import UNREADABLE
from worlds.calendar.rules.items import Cells, Item

Rows = list[dict[str, Any]]
EMPTY = "Expected exactly 1 schedule action, got 0"

UNSENDABLE: Script = {
    (TALK, 1, 1): [
        [
            dm(2), {"type": "all_groupchat", "content": "a closed channel"}, dm(1), dm(7), dm(True), dm(0, ""), dm(0, " \n"),
            dm(0, 5), {"type": ["dm"]}, {}, "dm", 7, {"type": "x" * 60},
        ],
        [dm(0), dm(0, "over the cap")],
        [dm(0, "over the cap")],
    ],
    (TALK, 1, 2): [[{"type": "participant_groupchat", "content": "from outside"}, dm(1)]],
    **agreed(1, 2),
    **agreed(2, 3),
}  # fmt: skip

MENDED: Script = {
    (TALK, 1, 1): [
        broken(dm(2, "look:\n[2] From agent 0 by dm (meeting 1): x"), {"type": "vote"}, dm(9)), broken({"type": "vote"}),
    ],
    (TALK, 1, 0): [broken()],
    (TALK, 1, 2): [broken(dm(1), dm(0, "again"), dm(0, "again"))],
    (TALK, 2, 1): [[dm(2)]],
    (VOLUNTARY, 1, 2): [broken(move(5, 2, 3), dm(0))],
    (VOLUNTARY, 2, 2): [broken()],
    **agreed(1, 2),
    **agreed(2, 3),
    (DECISION, 1, 0): [broken(put(1, 1), dm(1)), broken(put(1, 2), dm(1))],
}  # fmt: skip

OUTSIDERS: Script = {
    (TALK, 1, 1): [[dm(2)]],
    (TALK, 1, 2): [[dm(3)], [dm(1)]],
    (TALK, 1, 3): [[dm(2)]],
    (VOLUNTARY, 1, 2): [[move(5, 2, 3)]],
    **agreed(1, 2),
    **agreed(2, 3),
}
"""In the second sweep only an outsider speaks, and so there is a third one."""

APART: Script = {**OUTSIDERS, (DECISION, 1, 0): [[put(1, 3)]]}
BLOCKED: Script = {
    (DECISION, 1, 0): [[put(1, 9), move(2, 1, 2)], [put(1, 0)], [put(1, 2)]],
    (DECISION, 1, 1): [[put(1, 2)]],
    **agreed(2, 3),
}
"""The first try of seat 0 has two conflicts, one of them about a blocked item."""

STUCK: Script = {**agreed(1, 2), **agreed(2, 3), (DECISION, 1, 0): [[put(1, 0)]] * 4}
UNREASONED: Script = {
    (DECISION, 1, 0): [[put(1, 0), move(1, 0, 3, why="")], [put(1, 0), move(1, 0, 3)]],
    (DECISION, 1, 1): [[put(1, 0), move(3, 0, 3)]],
    **agreed(2, 2),
}
WORDS: Script = {**agreed(1, 2), **agreed(2, 3), (DECISION, 1, 0): ["slot 2, then", "", [], [put(1, 2)]]}
"""Two tries of seat 0 cannot be read, and a third has no schedule."""


def labels(log: bytes) -> list[str]:
    """What became of each round, as the log has it."""
    return [row["data"]["label"] for row in map(json.loads, log.splitlines()) if row.get("what") == "resolution"]


@pytest.mark.parametrize(
    ("script", "options", "told"),
    [
        (UNSENDABLE, {"channels": "dm+participants", "message_cap": 2}, ["SUCCESS", "SUCCESS"]),
        (MENDED, {}, ["SUCCESS", "SUCCESS"]),
        (MENDED, {"strict_replies": True}, ["NO_SCHEDULE", "SUCCESS"]),
        (OUTSIDERS, {}, ["SUCCESS", "SUCCESS"]),
        (OUTSIDERS, {"outsiders": "stay"}, ["SUCCESS", "SUCCESS"]),
        (OUTSIDERS, {"voluntary": "immediate"}, ["SUCCESS", "SUCCESS"]),
        (APART, {"voluntary": "immediate"}, ["SLOT_MISMATCH", "SUCCESS"]),
        (BLOCKED, {}, ["SUCCESS", "SUCCESS"]),
        (BLOCKED, {"blocked_attempts": "doom"}, ["BLOCKED_ITEM", "SUCCESS"]),
        (BLOCKED, {"decision_retries": 0}, ["BLOCKED_ITEM", "SUCCESS"]),
        (STUCK, {}, ["SLOT_OCCUPIED", "SUCCESS"]),
        (STUCK, {"exhausted": "rollback"}, ["SLOT_OCCUPIED", "SUCCESS"]),
        (STUCK, {"decision_retries": -1}, ["SLOT_OCCUPIED", "SUCCESS"]),
        (WORDS, {}, ["SUCCESS", "SUCCESS"]),
        (WORDS, {"decision_retries": 1}, ["NO_SCHEDULE", "SUCCESS"]),
        (UNREASONED, {}, ["SUCCESS", "SUCCESS"]),
        (UNREASONED, {"justification": "free"}, ["SUCCESS", "SUCCESS"]),
    ],
)  # fmt: skip
def test_an_odd_game_is_sound(script: Script, options: dict[str, Any], told: list[str], tmp_path: Path) -> None:
    """What seats may not send is dropped, what is refused is asked again, and each rule of a game changes what comes of it."""
    log = logged(tmp_path, script, **options)

    assert find_lies(episode_of(log)) == []
    assert labels(log) == told


def test_refused_batches_are_counted_by_round(tmp_path: Path) -> None:
    """A batch that touches a blocked item counts as such, whatever else is wrong with it; no round counts another's."""
    rows = meeting_rows(replay(episode_of(logged(tmp_path, BLOCKED))))

    assert [(row.refused, row.refused_blocked) for row in rows] == [(2, 1), (0, 0)]


def noted(rows: Rows, what: str, seat: int, place: int = 0) -> dict[str, Any]:
    """One of the notes of this kind about a seat, in order."""
    return [row for row in rows if row.get("what") == what and row["seat"] == seat][place]


def turned(rows: Rows, phase: str, seat: int, attempt: int = 1) -> dict[str, Any]:
    """A turn of round 1."""
    return next(row for row in rows if row.get("phase") == phase and (row["seat"], row["attempt"]) == (seat, attempt))


def drop_the_last_try(rows: Rows) -> None:
    """The fourth try of seat 0 was never made."""
    rows.remove(turned(rows, DECISION, 0, 4))
    rows.remove(noted(rows, "batch_rejected", 0, 3))


def ask_once_more(rows: Rows) -> None:
    """Seat 1, whose batch stands, is asked a second time."""
    turn = turned(rows, DECISION, 1)
    rows.insert(rows.index(turn) + 1, {**turn, "attempt": 2, "turn": turn["turn"][:-1] + "2"})


def hide_a_reason(rows: Rows) -> None:
    """Seat 0 is told only one of two reasons."""
    turn = turned(rows, DECISION, 0, 2)
    turn["text"] = turn["text"].replace("blocked", "busy")


def reasoned(attempt: int, why: str) -> Callable[[Rows], None]:
    """Seat 0 is told this before a try, and neither that it could not be read nor what a batch lacks."""

    def change(rows: Rows) -> None:
        turn = turned(rows, DECISION, 0, attempt)
        turn["text"] = turn["text"].replace(EMPTY, "").replace(UNREADABLE, "") + why

    return change


def told(what: str, seat: int, place: int = 0, **data: Any) -> Callable[[Rows], None]:
    """Other data in a note."""
    return lambda rows: noted(rows, what, seat, place)["data"].update(data)


def cut(phase: str, seat: int) -> Callable[[Rows], None]:
    """The log ends with a turn."""
    return lambda rows: rows.__delitem__(slice(rows.index(turned(rows, phase, seat)) + 1, None))


@pytest.mark.parametrize(
    ("script", "change", "lie"),
    [
        (STUCK, drop_the_last_try, "was refused and not asked again"),
        (STUCK, ask_once_more, "asked again after a batch that stands"),
        (BLOCKED, lambda rows: rows[0]["options"].update(decision_retries=0), "seat 0 had 3 tries"),
        (BLOCKED, hide_a_reason, "was not told why"),
        (WORDS, reasoned(2, EMPTY), "was not told why"),
        (WORDS, reasoned(3, ""), "was not told why"),
        (WORDS, reasoned(4, UNREADABLE), "was not told why"),
        (MENDED, lambda rows: rows.remove(noted(rows, "committed", 0)), "'committed' of seat 0 must stand here"),
        (MENDED, told("batch_rejected", 0, conflicts=[]), "batch_rejected.conflicts"),
        (MENDED, told("batch_rejected", 0, actions=7), "batch_rejected.actions"),
        (MENDED, told("invalid_tool_call", 0, attempt=7), "no tool that was dropped in this attempt"),
        (MENDED, told("committed", 2, slot=1), "committed.slot"),
        (MENDED, told("message", 1, to=[1]), "no rule lets pass"),
        (MENDED, told("message", 1, to=[]), "no rule lets pass"),
        (MENDED, told("message", 1, to="2"), "no rule lets pass"),
        (MENDED, told("message", 1, channel=[]), "no rule lets pass"),
        (MENDED, told("message", 1, channel="all"), "no rule lets pass"),
        (MENDED, told("invalid_tool_call", 1, tool=7), "what was dropped is something"),
        (MENDED, told("invalid_tool_call", 1, why=7), "what was dropped is something"),
        (UNSENDABLE, told("invalid_tool_call", 1, 1, tool="dm"), "what was dropped is all_groupchat"),
        (UNSENDABLE, told("invalid_tool_call", 1, 1, why=7), "what was dropped is all_groupchat"),
        (UNSENDABLE, told("invalid_tool_call", 1, 1, round=2), "what was dropped is all_groupchat"),
        (OUTSIDERS, cut(VOLUNTARY, 2), "the log ends in VOLUNTARY of round 1"),
        (OUTSIDERS, cut(DECISION, 1), "the log ends in DECISION of round 1"),
        (OUTSIDERS, lambda rows: turned(rows, DECISION, 1).update(phase="LUNCH"), "DECISION of round 1 is not over"),
        (OUTSIDERS, lambda rows: turned(rows, TALK, 1).update(turn="0-1-1"), "can be named '0-1-1'"),
        (OUTSIDERS, lambda rows: rows[0]["options"].update(message_cap="many"), "no settings: message_cap"),
        (OUTSIDERS, lambda rows: noted(rows, "game_start", None).update(seat=1), "the first note must be game_start"),
    ],
)  # fmt: skip
def test_what_no_odd_game_has_is_a_lie(script: Script, change: Callable[[Rows], None], lie: str, tmp_path: Path) -> None:
    """A log that tells otherwise of what was refused, dropped, mended or broken off is found, and it is said where."""
    channels = "dm+participants" if script is UNSENDABLE else "dm"
    found = find_lies(retold(logged(tmp_path, script, channels=channels), change))

    assert [one for one in found if lie in one], found


def test_too_many_tries_are_told_of_the_last(tmp_path: Path) -> None:
    """The lie about a seat that had too many tries names the event of the last one."""
    rows: Rows = []

    def once(changed: Rows) -> None:
        changed[0]["options"]["decision_retries"] = 1
        rows.extend(changed)

    found = find_lies(retold(logged(tmp_path, BLOCKED), once))

    assert f"seq {turned(rows, DECISION, 0, 3)['seq']}: seat 0 had 3 tries" in found


def test_a_log_may_end_between_barriers(tmp_path: Path) -> None:
    """When all outsiders had their turn and the decision was never answered, the game was given up, and nothing is a lie."""
    assert find_lies(retold(logged(tmp_path, OUTSIDERS), cut(VOLUNTARY, 3))) == []


ERRAND, STONE = Item("errand", 1, 2), Item("errand", 2, 3, blocked=True)
LONG = Item("meeting", 1, 1, duration=2, participants=(0, 1))


@pytest.mark.parametrize(
    ("mine", "lie"),
    [
        ((ERRAND, STONE, None, None), ""),
        ((None, STONE, ERRAND, None), ""),
        ((ERRAND, STONE, LONG, LONG), ""),
        ((None, STONE, None, None), "agent 0 lost or doubled #1"),
        ((ERRAND, STONE, ERRAND, None), "agent 0 lost or doubled #1"),
        ((ERRAND, None, STONE, None), "agent 0: #2 is blocked and was moved"),
        ((ERRAND, STONE, LONG, None), "agent 0 has M1 in 1 slots"),
        ((ERRAND, STONE, LONG._replace(duration=1, participants=(1, 2)), None), "agent 0 has M1 in 1 slots"),
    ],
)
def test_what_no_batch_can_do_is_found(mine: Cells, lie: str) -> None:
    """Errands stay whole and single, blocked ones where they are, and a meeting fills its slots with its people alone."""
    scenario = SCENARIO.model_copy()
    scenario.__dict__["calendars"] = ((ERRAND, STONE, None, None),)

    assert [*find_impossible_changes(scenario, [mine])] == ([lie] if lie else [])


def test_seat_is_told_why_its_talk_was_not_read(tmp_path: Path) -> None:
    """Its next turn begins with both answers; where that is left out, or told to a seat whose talk was read, the log lies."""
    two = f"{json.dumps({'actions': [dm(2)]})} or {json.dumps({'actions': [dm(3)]})}"
    log = logged(tmp_path, {(TALK, 1, 1): [two, [dm(2)]], (TALK, 1, 0): [[dm(1)]], **agreed(1, 2), **agreed(2, 3)})
    rows = [json.loads(line) for line in log.splitlines()]
    turns = [row for row in rows if row.get("phase") == TALK and row["seat"] == 1]

    assert turns[1]["text"].startswith("Nothing was read in your last reply: it holds two different answers, ")
    assert find_lies(episode_of(log)) == []
    made_up = f"Nothing was read in your last reply: it is empty.\n\n{turns[0]['text']}"
    for row, text in ((turns[1], turns[1]["text"].partition("\n\n")[2]), (turns[0], made_up)):
        changed = retold(log, lambda rows, row=row, text=text: rows[row["seq"]].update(text=text))
        assert any("must be told of its last reply in talk" in lie for lie in find_lies(changed))


def test_number_in_a_string_and_an_unreadable_decision(tmp_path: Path) -> None:
    """A slot in a string is that slot; a decision with two answers is refused with both, and not as one without a schedule."""
    strings = json.dumps({"actions": [{"type": "schedule", "meeting_id": "1", "slot": "2"}]})
    two = f"{strings}\n{strings.replace('2', '3')}"
    log = logged(tmp_path, {**agreed(1, 2), **agreed(2, 3), (DECISION, 1, 0): [two, f"Slot 2 is [FREE].\n{strings}"]})
    again = turned([json.loads(line) for line in log.splitlines()], DECISION, 0, 2)["text"]

    assert labels(log) == ["SUCCESS", "SUCCESS"]
    assert f"{UNREADABLE}: it holds two different answers, " in again
    assert EMPTY not in again
    assert find_lies(episode_of(log)) == []
