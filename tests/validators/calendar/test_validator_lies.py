"""What a log claims is held against the rules: sound logs have no lies, and every tampered one has."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import episode_of, folder_of, hostile, play, retold
from tests.worlds.calendar.random_tasks import canonical
from validators.calendar import assess
from validators.calendar.claims import test_log_is_true as claim
from validators.calendar.replay import find_lies
from validators.episode import Episode
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.core.errors import LogError
from worlds.core.loading import open_world
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Answer, OpenTurn

Rows = list[dict[str, Any]]
ODD: tuple[Any, ...] = (None, True, -1, 7, 1.5, "", "x", [], [[1, 2], 3], {}, {"a": {"b": 1}}, 10**18)

SCENARIO = Scenario(
    slots=4,
    errands=(
        (Errand(slot=0, id=1, cost=2, label="a dentist"), Errand(slot=1, id=2, cost=3, blocked=True)),
        (Errand(slot=0, id=3, cost=1), Errand(slot=1, id=4, cost=1)),
        (Errand(slot=2, id=5, cost=4),),
    ),
    meetings=(
        Meeting(id=1, participants=(0, 1), speakers=(1, 0), label="a merger"),
        Meeting(id=2, participants=(0, 1), label="a farewell"),
    ),
)


def seat(turn: OpenTurn) -> str:
    """A game with everything in it: mail on all channels, an outsider who moves, a retry, a move, a failure, mended replies."""
    actions: list[dict[str, Any]] = []
    if turn.id.startswith("1-"):
        actions = [
            {"type": "dm", "to": 2, "content": "may we have\nslot 2?"},
            {"type": "all_groupchat", "content": "hello"},
            {"type": "vote"},
        ]
    elif turn.id.startswith("2-"):
        actions = [{"type": "participant_groupchat", "content": "slot 0"}, {"type": "dm", "to": 0, "content": "me"}]
        return f"```json\n{json.dumps(actions)}\n```"
    elif turn.phase == "VOLUNTARY":
        actions = [{"type": "reschedule", "item_id": 5, "from_slot": 2, "to_slot": 3, "justification": "as promised"}]
    elif turn.phase == "DECISION":
        actions = _decision(turn)
        if turn.seat == 1:
            return json.dumps({"actions": actions})[:-1] + ",}"
    return json.dumps({"thinking": "", "actions": actions})


def _decision(turn: OpenTurn) -> list[dict[str, Any]]:
    slot = {1: 0, 2: 2 + turn.seat}[turn.round]
    schedule = {"type": "schedule", "meeting_id": turn.round, "slot": slot}
    if turn.round == 2 or (turn.seat == 0 and turn.attempt == 1):
        return [schedule]
    item = 1 if turn.seat == 0 else 3
    return [
        schedule,
        {"type": "reschedule", "item_id": item, "from_slot": 0, "to_slot": 3 - turn.seat, "justification": "room"},
        {"type": "dm", "to": 1, "content": "too late"},
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of that game."""
    folder = folder_of(tmp_path_factory.mktemp("task"), SCENARIO)
    return play(folder, seat, {"channels": "dm+participants+all"}).log.dump()


def lies(log: bytes, change: Callable[[Rows], object]) -> list[str]:
    """What is found in a log after a change."""
    return find_lies(retold(log, change))


def test_the_game_has_every_kind_of_note(log: bytes) -> None:
    """The log that is tampered with below has no lie, and every kind of note that a game can have."""
    rows = [json.loads(line) for line in log.splitlines()]

    assert find_lies(episode_of(log)) == []
    assert {row["what"] for row in rows if row["type"] == "game"} == {
        "game_start", "round_start", "message", "invalid_tool_call", "parsed", "batch_rejected", "committed", "resolution",
        "game_end",
    }  # fmt: skip
    assert [row["data"]["label"] for row in rows if row.get("what") == "resolution"] == ["SUCCESS", "SLOT_MISMATCH"]


def notes_of(log: bytes) -> list[int]:
    """Where the notes stand that the rules foretell."""
    rows = [json.loads(line) for line in log.splitlines()]
    return [row["seq"] for row in rows if row["type"] == "game" and row["what"] != "game_start"]


def test_every_value_of_every_note_is_checked(log: bytes) -> None:
    """Another value anywhere in a note of the world is found, and so is one that is missing or made up."""
    rows = [json.loads(line) for line in log.splitlines()]
    told: list[tuple[str, str]] = []
    for seq in notes_of(log):
        for key in rows[seq]["data"]:
            if key in ("why", "tool") and rows[seq]["what"] == "invalid_tool_call":
                continue

            def other(rows: Rows, seq: int = seq, key: str = key) -> None:
                value = rows[seq]["data"][key]
                rows[seq]["data"][key] = value + 1 if type(value) is int else "another"

            def missing(rows: Rows, seq: int = seq, key: str = key) -> None:
                del rows[seq]["data"][key]

            told += [(rows[seq]["what"], key) for change in (other, missing) if not lies(log, change)]
        told += [
            (rows[seq]["what"], "more") for _ in [0] if not lies(log, lambda rows, seq=seq: rows[seq]["data"].update(more=1))
        ]

    assert told == []


def mended(rows: Rows) -> set[int]:
    """Messages and dropped tools of replies that had to be mended: how many there were, and in which order, only they tell."""
    found: set[int] = set()
    for row, after in itertools.pairwise(rows):
        told = row.get("what") == "parsed" or row["seq"] in found
        if told and after.get("what") in ("message", "invalid_tool_call") and after["seat"] == row["seat"]:
            found.add(after["seq"])
    return found


def test_every_note_is_needed_in_its_place(log: bytes) -> None:
    """A note that is left out, told twice, of another seat or kind, or swapped with the next event is found."""
    rows = [json.loads(line) for line in log.splitlines()]
    unseen: list[tuple[str, str]] = []
    free = mended(rows)
    for seq in notes_of(log):
        changes: dict[str, Callable[[Rows], object]] = {
            "left out": lambda rows, seq=seq: rows.pop(seq),
            "twice": lambda rows, seq=seq: rows.insert(seq, copy.deepcopy(rows[seq])),
            "of another seat": lambda rows, seq=seq: rows[seq].update(seat=(rows[seq]["seat"] or 0) + 1),
            "of another kind": lambda rows, seq=seq: rows[seq].update(what="nothing"),
        }
        if seq + 1 < len(rows) and {**rows[seq], "seq": 0} != {**rows[seq + 1], "seq": 0}:
            changes["swapped"] = lambda rows, seq=seq: rows.insert(seq + 1, rows.pop(seq))
        missed = {name for name, change in changes.items() if not lies(log, change)}
        unseen += [(name, rows[seq]["what"]) for name in missed - ({"left out", "twice", "swapped"} if seq in free else set())]

    assert unseen == []
    assert 2 < len(free) < 5


def turn_of(rows: Rows, phase: str, seat: int, attempt: int = 1) -> dict[str, Any]:
    """A turn of round 1."""
    return next(
        row for row in rows if row["type"] == "turn" and (row["phase"], row["seat"], row["attempt"]) == (phase, seat, attempt)
    )


def edit(phase: str, seat: int, key: str, value: Any, attempt: int = 1) -> Callable[[Rows], object]:
    """Another value in a turn; a function makes it of the old one."""

    def change(rows: Rows) -> None:
        turn = turn_of(rows, phase, seat, attempt)
        turn[key] = value(turn[key]) if callable(value) else value

    return change


TURNS: dict[str, tuple[Callable[[Rows], object], str]] = {
    "another calendar": (edit("DECISION", 0, "text", lambda text: text.replace("cost=2", "cost=1")), "not shown its calendar"),
    "a label hidden": (
        edit("DECISION", 0, "text", lambda text: text.replace("a dentist", "a barber")),
        "not shown its calendar",
    ),
    "mail left out": (edit("CHEAP_TALK", 0, "text", lambda text: text.replace("hello", "")), "was not given what was sent"),
    "mail made up": (
        edit("CHEAP_TALK", 1, "text", lambda text: text + "\n[1] From agent 0 by dm (meeting 1): x"),
        "1 messages, 0",
    ),
    "no reason": (edit("DECISION", 0, "text", "Again.", attempt=2), "not told why"),
    "another reply": (
        edit("DECISION", 0, "reply", lambda reply: reply.replace('"slot": 0', '"slot": 1'), attempt=2),
        "batch_rejected",
    ),
    "words put in": (edit("CHEAP_TALK", 1, "reply", lambda reply: reply.replace("hello", "goodbye")), "message.content"),
    "another recipient": (edit("CHEAP_TALK", 1, "reply", lambda reply: reply.replace('"to": 2', '"to": 0')), "message.to"),
    "another round": (edit("DECISION", 0, "round", 2), "said to be of round 2"),
    "another name": (edit("DECISION", 0, "turn", "99-1-1"), "can be named"),
    "another barrier": (edit("DECISION", 1, "turn", "99-1-1"), "open together"),
    "a forfeit that spoke": (edit("DECISION", 0, "no_reply", "timeout"), "has a reply"),
    "another phase": (edit("DECISION", 0, "phase", "LUNCH"), "follows"),
    "another seat": (edit("VOLUNTARY", 2, "seat", 1), "follows"),
}


@pytest.mark.parametrize("name", TURNS)
def test_turns_are_checked(log: bytes, name: str) -> None:
    """What a seat was shown, said, or when it was asked cannot be changed unseen."""
    change, expected = TURNS[name]

    assert any(expected in lie for lie in lies(log, change)), lies(log, change)


def moved(seat: int, value: Any) -> Callable[[Rows], object]:
    """Other moves in the commit of a seat whose reply had to be mended."""

    def change(rows: Rows) -> None:
        next(row for row in rows if row.get("what") == "committed" and row["seat"] == seat)["data"].update(value)

    return change


@pytest.mark.parametrize(
    "value",
    [
        {"moves": [["#3", 0, 1]]},
        {"moves": [["#3", 0, 0]]},
        {"moves": [["#9", 0, 2]], "cost": 0},
        {"moves": [["#3", 0, 2], ["#3", 0, 3]], "cost": 2},
        {"moves": [], "cost": 0},
        {"moves": "#3", "cost": 0},
        {"cost": 0},
        {"slot": 3},
        {"slot": None},
    ],
    ids=str,
)
def test_a_mended_batch_must_be_a_valid_one(log: bytes, value: dict[str, Any]) -> None:
    """Where only the note tells what a seat did, the rules must let it pass, and it must add up."""
    assert lies(log, moved(1, value))


def test_stopped_games_are_sound_wherever_they_stop(tmp_path: Path) -> None:
    """A game that is stopped after any number of turns has no lie; one whose end was cut off in a decision has."""
    folder = folder_of(tmp_path, SCENARIO)
    options = {"channels": "dm+participants+all"}
    whole = len([event for event in play(folder, seat, options).log.events if event.type == "turn"])
    logs = [play(folder, seat, options, turns).log.dump() for turns in range(whole)]

    assert [find_lies(episode_of(log)) for log in logs] == [[]] * whole
    assert any("nobody stopped" in lie for log in logs for lie in lies(log, lambda rows: rows.pop()))


def test_games_that_nobody_goes_on_with_are_sound(tmp_path: Path) -> None:
    """Without a host there is nobody to stop a game: wherever its agent quits, also in a decision, its log is true."""
    world = open_world(folder_of(tmp_path, SCENARIO), overrides={"channels": "dm+participants+all"})
    assert isinstance(world, SeatedWorld)
    while not world.turns.over:
        turn = world.turns.open[-1]
        world.turns.answer(turn.id, Answer(seat(turn)))
        if not world.turns.over:
            assert find_lies(episode_of(world.log.dump())) == [], turn.id


def test_frame_is_checked(log: bytes) -> None:
    """A fault of the world, events after the end, a missing session or a strange one are lies."""
    closed = {"type": "closed", "cause": "fault", "vt": 10**9}

    assert "the world failed" in str(lies(log, lambda rows: rows.append(closed)))
    assert "follows the end" in str(lies(log, lambda rows: rows.insert(3, {**closed, "cause": "steps", "vt": 0})))
    assert "one session" in str(lies(log, lambda rows: rows.pop(1)))
    assert "one session" in str(lies(log, lambda rows: rows[1].update(seats=["only one"])))
    assert "the game is over" in str(lies(log, lambda rows: rows.append(copy.deepcopy(rows[-1]))))


@pytest.mark.parametrize(
    "scenario", [None, {}, {"slots": 4}, {"slots": 4, "errands": [[]], "meetings": []}, 7, {"slots": "x"}], ids=str
)
def test_no_scenario_is_no_game(log: bytes, scenario: Any) -> None:
    """A log without a scenario that can be read is one lie, and its verdict earns nothing."""
    episode = retold(log, lambda rows: rows[2]["data"].update(scenario=scenario))

    assert len(find_lies(episode)) == 1
    assert ("OTHER", 0.0, "no_game") == (
        assess(episode).failure_label,
        assess(episode).reward,
        assess(episode).failure_detail["reason"],
    )


@pytest.mark.parametrize("name", ["profile", "failed_rounds", "turn_cap", "decision_retries", "strict_replies", "channels"])
@pytest.mark.parametrize("value", ["gone", None, "other", [], -3], ids=str)
def test_odd_options_do_no_harm(log: bytes, name: str, value: Any) -> None:
    """Options that our world could not have had, or that the game does not fit, are a lie and no exception."""

    def change(rows: Rows) -> None:
        if value == "gone":
            del rows[0]["options"][name]
        else:
            rows[0]["options"][name] = value

    assert lies(log, change)


def test_claim_speaks(log: bytes) -> None:
    """The hidden validator's one claim holds for a true log and fails, saying where, for another."""
    claim(episode_of(log))

    with pytest.raises(AssertionError, match=r"seq \d+: resolution.label"):
        claim(retold(log, lambda rows: rows[-2]["data"].update(label="SUCCESS")))


@pytest.mark.parametrize("part", range(4))
@pytest.mark.property
def test_nothing_readable_raises(part: int, tmp_path: Path) -> None:
    """Whatever stands in a log that can be read, it is judged: values, events and order changed at random."""
    draw = random.Random(part)
    scenario = canonical(part, agents=3, slots=5, meetings=2)
    log = play(folder_of(tmp_path, scenario), hostile(draw, 3, 0.8), {"channels": "dm+all"}).log.dump()
    judged = found = 0
    for _ in range(150):
        try:
            episode = retold(log, lambda rows: [_damage(draw, rows) for _ in range(draw.randint(1, 4))])
        except LogError:
            continue
        judged += 1
        found += bool(find_lies(episode))
        json.dumps(assess(episode).model_dump(mode="json"), allow_nan=False)

    assert judged > 40
    assert found > judged / 2


def _damage(draw: random.Random, rows: Rows) -> None:
    at = draw.randrange(len(rows))
    kind = draw.random()
    if kind < 0.1 and at:
        rows.pop(at)
    elif kind < 0.2 and at:
        rows.insert(at, copy.deepcopy(draw.choice(rows[1:])))
    else:
        inside: Any = rows[at]["data"] if rows[at]["type"] == "game" and rows[at]["data"] else rows[at]
        while True:
            key = draw.choice([*inside] if isinstance(inside, dict) else range(len(inside)))
            if key in ("type", "seq", "vt", "prev", "hash"):
                return
            if not isinstance(inside[key], dict | list) or not inside[key] or draw.random() < 0.3:
                inside[key] = draw.choice(ODD)
                return
            inside = inside[key]


def test_an_empty_game_is_judged(log: bytes) -> None:
    """The shortest log there is, one first event, is no game."""
    first = Episode(episode_of(log).events[:1])

    assert find_lies(first) == ["the first note must be game_start, with a scenario and nothing else"]
    assert assess(first).reward == 0.0
