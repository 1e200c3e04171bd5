"""A chat's log follows from what its people wrote: as it was held it is graded, and tampered with anywhere it earns nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.paths import ROOT
from harness.registry import Task, read_task
from harness.runtimes.judging import judge_in_process
from tests.parley.hosting.hosted import hosted
from tests.worlds.calendar.hostile_games import chained
from worlds.core.loading import open_world
from worlds.hidden_profile.options import COSTS
from worlds.hidden_profile.session import MAX_MESSAGES
from worlds.hidden_profile.world import HiddenProfileWorld

pytestmark = pytest.mark.property

Row = dict[str, Any]
Rows = list[Row]

TALK = ("Who has seen the cellar?", "I have, it is damp.", "Then not the cellar.", "Nor the attic.")
"""Said by seats 0, 1, 0 and 2, in this order; seat 1 leaves before the last one, and the clock closes the chat after it."""


@pytest.fixture(scope="module")
def task() -> Task:
    """The task that is played."""
    return read_task(ROOT / "tasks" / "hidden-profile" / "bakery-switch")


@pytest.fixture(scope="module")
def rows(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The events of a chat of four people, one of whom says nothing; all vote the key."""
    world = open_world(task.world_folder, seed=0)
    assert isinstance(world, HiddenProfileWorld)
    key = world.scenario.label(world.scenario.key)
    folder = tmp_path_factory.mktemp("held") / "run"
    with hosted(folder, "hidden-profile/bakery-switch", options={"talk": "chat"}) as (held, people):
        for one in people:
            one.post(do="join")
        for one in people:
            one.vote(key)
        for speaker, words in zip((0, 1, 0), TALK, strict=False):
            people[speaker].say(words)
            people[speaker].until(words)
        people[1].post(do="finish")
        people[2].say(TALK[3])
        people[2].until(TALK[3])
        held.clock.passes(15 * 60)
        for one in people:
            one.vote(key)
        log = (Path(held.result().path) / "events.jsonl").read_bytes()
    return [json.loads(line) for line in log.splitlines()]


def at(rows: Rows, words: str) -> int:
    """Where somebody says these words; the note of it is next."""
    return next(place for place, row in enumerate(rows) if row["type"] == "turn" and row["reply"] == words)


def gone(rows: Rows, cause: str) -> int:
    """Where somebody leaves the chat, by a turn that is forfeited."""
    return next(place for place, row in enumerate(rows) if row["type"] == "turn" and row["no_reply"] == cause)


def after_closing(rows: Rows) -> int:
    """Where the second vote begins."""
    return next(place for place, row in enumerate(rows) if row.get("phase") == "POST_VOTE")


def dropped(rows: Rows, place: int, count: int = 2) -> None:
    """Take out events: a turn and its note."""
    del rows[place : place + count]


def moved(rows: Rows, place: int, to: int, count: int = 2) -> None:
    """Put events before others."""
    taken = rows[place : place + count]
    del rows[place : place + count]
    rows[to - (count if to > place else 0) : to - (count if to > place else 0)] = taken


def doubled(rows: Rows, place: int, to: int) -> None:
    """Put a message there once more."""
    rows[to:to] = copy.deepcopy(rows[place : place + 2])


def of_seat(rows: Rows, place: int, seat: int) -> None:
    """Give a message another author."""
    rows[place]["seat"] = rows[place + 1]["seat"] = seat


def worded(rows: Rows, place: int, words: str) -> None:
    """Give a message other words, in its turn and in its note."""
    rows[place]["reply"] = rows[place + 1]["data"]["text"] = words


def shown(rows: Rows, place: int, words: str, instead: str) -> None:
    """Change what the speaker had been shown."""
    assert words in rows[place]["text"]
    rows[place]["text"] = rows[place]["text"].replace(words, instead)


def left_for(rows: Rows, place: int, cause: str) -> None:
    """Give somebody's leaving another cause."""
    rows[place]["no_reply"] = rows[place + 1]["data"]["no_reply"] = cause


def later(rows: Rows, place: int, ms: int) -> None:
    """Move everything from there on in virtual time."""
    for row in rows[place:]:
        row["vt"] += ms


TAMPERED: Mapping[str, Callable[[Rows], object]] = {
    "the first message dropped": lambda rows: dropped(rows, at(rows, TALK[0])),
    "the last message dropped": lambda rows: dropped(rows, at(rows, TALK[3])),
    "a turn without its note": lambda rows: dropped(rows, at(rows, TALK[1]) + 1, 1),
    "a note without its turn": lambda rows: dropped(rows, at(rows, TALK[1]), 1),
    "a message doubled": lambda rows: doubled(rows, at(rows, TALK[1]), at(rows, TALK[1]) + 2),
    "the last message doubled": lambda rows: doubled(rows, at(rows, TALK[3]), at(rows, TALK[3]) + 2),
    "another author": lambda rows: of_seat(rows, at(rows, TALK[1]), 2),
    "another author of the last message": lambda rows: of_seat(rows, at(rows, TALK[3]), 0),
    "other words": lambda rows: worded(rows, at(rows, TALK[1]), "I have not."),
    "other words in the last message": lambda rows: worded(rows, at(rows, TALK[3]), "It must be the attic."),
    "other words in a note": lambda rows: rows[at(rows, TALK[1]) + 1]["data"].update(text="I have not."),
    "other words in a reply": lambda rows: rows[at(rows, TALK[1])].update(reply="I have not."),
    "moved before another": lambda rows: moved(rows, at(rows, TALK[2]), at(rows, TALK[1])),
    "moved behind the last": lambda rows: moved(rows, at(rows, TALK[1]), gone(rows, "timeout")),
    "shown other words": lambda rows: shown(rows, at(rows, TALK[2]), TALK[1], "I have not."),
    "shown less": lambda rows: shown(rows, at(rows, TALK[2]), f"Person 2: {TALK[1]}\n", ""),
    "shown more": lambda rows: shown(rows, at(rows, TALK[2]), TALK[1], f"{TALK[1]}\nPerson 3: So have I."),
    "shown too little at the close": lambda rows: shown(rows, gone(rows, "timeout"), f"Person 3: {TALK[3]}\n", ""),
    "shown another talk at the second vote": lambda rows: shown(rows, after_closing(rows), TALK[0], "Who has not?"),
    "closed before the last message": lambda rows: moved(
        rows, gone(rows, "timeout"), at(rows, TALK[3]), after_closing(rows) - gone(rows, "timeout")
    ),
    "a message after closing": lambda rows: doubled(rows, at(rows, TALK[3]), after_closing(rows)),
    "nobody closes it": lambda rows: dropped(rows, gone(rows, "timeout"), after_closing(rows) - gone(rows, "timeout")),
    "one of them is not closed out": lambda rows: dropped(rows, after_closing(rows) - 1, 1),
    "closed a minute later": lambda rows: later(rows, gone(rows, "timeout"), 60_000),
    "the second vote a minute later": lambda rows: later(rows, after_closing(rows), 60_000),
    "closed at once, as told to who sat down": lambda rows: rows[1]["public"].update(minutes=1),
    "longer by its options": lambda rows: rows[0]["options"].update(minutes=20),
    "somebody absent speaks": lambda rows: of_seat(rows, at(rows, TALK[3]), 1),
    "who left speaks again": lambda rows: doubled(rows, at(rows, TALK[1]), at(rows, TALK[3]) + 2),
    "nobody left": lambda rows: dropped(rows, gone(rows, "declined")),
    "somebody else left": lambda rows: of_seat(rows, gone(rows, "declined"), 0),
    "timed out instead of left": lambda rows: left_for(rows, gone(rows, "declined"), "timeout"),
    "left instead of timed out": lambda rows: left_for(rows, gone(rows, "timeout"), "declined"),
    "a forfeit with words": lambda rows: rows[gone(rows, "timeout")].update(reply="Wait!"),
}


def tidied(rows: Rows) -> Rows:
    """Give turns new names, numbers and times by their order, as somebody would who covers their tracks."""
    barrier, now, last, said = 0, 0, None, dict.fromkeys(range(4), 0)
    for row in rows:
        is_talk = row["type"] == "turn" and row["phase"] == "DISCUSSION"
        if row["type"] == "turn" and (is_talk or row["phase"] != last):
            barrier += 1
            now += 1000 * COSTS["turn" if is_talk else "vote"]
        if row["type"] == "turn":
            last = row["phase"]
            row["turn"] = f"{barrier}-{row['seat']}-{row['attempt']}"
        if is_talk:
            row["round"] = said[row["seat"]] + 1
        if row.get("what") == "message":
            said[row["seat"]] += 1
            row["data"]["round"] = said[row["seat"]]
        row["vt"] = now
    return rows


IN_TIME_ALONE = {"closed a minute later", "the second vote a minute later"}
"""What is taken back when the times are tidied."""

CASES = [(name, tidy) for name in TAMPERED for tidy in (False, True) if not (tidy and name in IN_TIME_ALONE)]


@pytest.fixture(scope="module")
def verdicts(task: Task, rows: Rows) -> Mapping[tuple[str, bool], Row]:
    """What the task's own validator says of each log, by what was done to it ("": nothing) and whether it was tidied then."""
    logs: dict[tuple[str, bool], bytes] = {}
    for name, tidy in [("", False), ("", True), *CASES]:
        changed = copy.deepcopy(rows)
        if name:
            TAMPERED[name](changed)
        logs[name, tidy] = chained(tidied(changed) if tidy else changed)
    judged = judge_in_process(task, [*logs.values()])
    return {name: json.loads(one.verdict) for name, one in zip(logs, judged, strict=True)}


@pytest.mark.parametrize("tidy", [False, True])
def test_a_chat_as_it_was_held_is_graded(verdicts: Mapping[tuple[str, bool], Row], tidy: bool) -> None:
    """The log that is tampered with below is sound, also where it is written anew, and everybody voted the key."""
    verdict = verdicts["", tidy]

    assert (verdict["success"], verdict["reward"], verdict["metrics"]["lies"]) == (True, 1.0, 0)


def test_no_seat_closes_the_chat_of_others(task: Task, tmp_path: Path) -> None:
    """Whoever sends as many messages as a seat may is not heard again, the others are, and the log is graded."""
    with hosted(tmp_path / "run", "hidden-profile/bakery-switch", options={"talk": "chat"}) as (held, people):
        for one in people:
            one.post(do="join")
        world = open_world(task.world_folder, seed=0)
        assert isinstance(world, HiddenProfileWorld)
        for one in people:
            one.vote(world.scenario.label(world.scenario.key))
        people[0].until('name="said"')
        for number in range(MAX_MESSAGES):
            assert people[0].post(do="say", said=str(number), text=f"And {number}.").status_code < 400
        people[1].until(f"And {MAX_MESSAGES - 1}.")
        assert people[0].post(do="say", said=str(MAX_MESSAGES), text="And more.").status_code == 409
        people[1].say("So what?")
        people[2].until("So what?")
        held.clock.passes(15 * 60)
        for one in people:
            one.vote(world.scenario.label(world.scenario.key))
        log = (Path(held.result().path) / "events.jsonl").read_bytes()
    (judged,) = judge_in_process(task, [log])
    verdict = json.loads(judged.verdict)
    assert (verdict["success"], verdict["metrics"]["lies"]) == (True, 0)
    assert sum(json.loads(line).get("what") == "message" for line in log.splitlines()) == MAX_MESSAGES + 1


@pytest.mark.parametrize(("name", "tidy"), CASES, ids=[f"{name}, {'tidied' if tidy else 'as it is'}" for name, tidy in CASES])
def test_a_tampered_chat_earns_nothing(verdicts: Mapping[tuple[str, bool], Row], name: str, tidy: bool) -> None:
    """Whatever is dropped, doubled, moved or told otherwise, the hidden test fails and names a lie, so the reward is 0."""
    verdict = verdicts[name, tidy]

    assert (verdict["success"], verdict["reward"]) == (False, 0.0)
    assert [check["ok"] for check in verdict["checks"]] == [False]
    assert "seq " in verdict["checks"][0]["message"] or "there must be" in verdict["checks"][0]["message"]
