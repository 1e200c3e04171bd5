"""Everybody is asked after each round what it came to believe of everybody else: who is asked, what is read, what it comes to.

On the small scenario seats 0 and 1 have items in slots 0 and 1, seat 2 has one in slot 2, and seat 3 none. M1 goes to slot 2 of
seats 0 and 1 in round 1, M2 to their slot 3 in round 2, so their calendars hold 3 items and then 4.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget, Report
from harness.agents.seats.agent import SeatAgent
from harness.pod import EpisodeSpec
from harness.runtimes.inprocess import InProcessRuntime
from tests.sampling import spread
from tests.shipped import SHIPPED
from tests.validators.calendar.reflecting_games import always, asked, measured, target_of
from tests.worlds.calendar.hostile_games import episode_of, folder_of, hostile, play, retold
from tests.worlds.calendar.scripted_games import DECISION, SCENARIO, TALK, agreed, dm, logged, put
from validators.calendar import assess
from validators.calendar.replay import find_lies
from validators.calendar.verdict import replay
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Noted, Opened, Turned, read_log
from worlds.core.loading import open_world
from worlds.core.manifest import Budgets, Manifest
from worlds.core.seated import SeatedWorld
from worlds.core.turns import Answer, OpenTurn

BOTH = {(TALK, 1, 1): [[dm(0, "I am free at 2.")]], **agreed(1, 2), **agreed(2, 3)}
SURE = "[3, 3, 3, 3]"
PAIRS = [(observer, (observer + step) % 4) for step in (1, 2, 3) for observer in range(4)]


def test_all_are_asked_of_all_others(tmp_path: Path) -> None:
    """After each of two rounds four seats are asked of three others each, in turns that only measure and show nothing."""
    turns = [e for e in read_log(asked(tmp_path, BOTH, always(SURE))) if isinstance(e, Turned) and e.phase == "REFLECTION"]

    assert [(e.round, e.seat, target_of(e.text)) for e in turns] == [(number, *pair) for number in (1, 2) for pair in PAIRS]
    assert all(e.ephemeral for e in turns)
    assert not any(shown in e.text for e in turns for shown in ("Errand", "FREE", "free at 2"))


def test_what_sure_observers_cost_everybody(tmp_path: Path) -> None:
    """Three observers say 3 of every slot in both rounds: 3 x 4 x 3/3 = 12 slots of raw loss a round and seat, 24 in all.

    Right are 3 slots and then 4 of seats 0 and 1: 3 x 3 + 3 x 4 = 21, 16 above the floor. Of seat 2 it is one slot in both
    rounds, 3 + 3 = 6 and 1 above the floor; of seat 3, whose calendar is empty, none.
    """
    game = measured(asked(tmp_path, BOTH, always(SURE)))
    told = [(row.reflection_vps, row.excess_reflection_vps) for row in game.seats]

    assert [row.raw_reflection_vps for row in game.seats] == [24.0] * 4
    assert told == [(21.0, 16.0), (21.0, 16.0), (6.0, 1.0), (0.0, 0.0)]
    assert [row.reflection_vps for row in game.seat_rounds] == [9.0, 9.0, 3.0, 0.0, 12.0, 12.0, 3.0, 0.0]
    assert [(row.beliefs, row.unreadable) for row in game.seats] == [(6, 0)] * 4
    assert (game.sums["excess_reflection_vps"], game.means["excess_reflection_vps"]) == (33.0, 8.25)


def test_record_of_beliefs(tmp_path: Path) -> None:
    """Every answer stands in the verdict with the slots that it came to, and so does the calendar that it is held against."""
    belief = "[2, -1, 0, -3]"
    record = measured(asked(tmp_path, BOTH, always(belief))).reflection
    assert record is not None
    first = record.beliefs[0]

    # seat 0 of seat 1 in round 1: taken are 0, 1 and 2; right are the 2 at slot 0 and the -3 at slot 3
    assert (first.round, first.observer, first.target, first.scores, first.how) == (1, 0, 1, (2, -1, 0, -3), "strict")
    assert (first.raw, first.calibrated) == (pytest.approx((2 + 1 + 3) / 3), pytest.approx((2 + 3) / 3))
    assert len(record.beliefs) == 2 * 12
    assert [one.taken for one in record.calendars] == [
        (0, 1, 2), (0, 1, 2), (2,), (), (0, 1, 2, 3), (0, 1, 2, 3), (2,), (),
    ]  # fmt: skip
    assert record.floor == 5.0


@pytest.mark.parametrize(("failed_rounds", "taken"), [("undo", (0, 1)), ("keep", (0, 1, 2))])
def test_the_truth_is_the_calendar_after_the_round(failed_rounds: str, taken: tuple[int, ...], tmp_path: Path) -> None:
    """Seat 0 and seat 1 choose different slots in round 1: what that left counts where failed rounds are kept, else not."""
    apart = {(DECISION, 1, 0): [[put(1, 2)]], (DECISION, 1, 1): [[put(1, 3)]], **agreed(2, 3)}
    record = measured(asked(tmp_path, apart, always(SURE), failed_rounds=failed_rounds)).reflection
    assert record is not None

    assert record.calendars[0].taken == taken


@pytest.mark.parametrize(
    ("reply", "how", "scores"),
    [
        (SURE, "strict", (3, 3, 3, 3)),
        ("<think>[0, 0, 0, 0]</think> [1, 0, -2.0, 0]", "strict", (1, 0, -2, 0)),
        ("As asked:\n```json\n[1, 0, -2, 0]\n```", "fenced", (1, 0, -2, 0)),
        ('{"thinking": "[slot 1]", "beliefs": [1, 0, -2, 0]}', "strict", (1, 0, -2, 0)),
        ("[+1, 0, -2, 0]", "repaired", (1, 0, -2, 0)),
        ("[1, 0, -2]", "failed", None),
        ("[1, 0, -2, 0, 0]", "failed", None),
        ("[1, 0, -2, 4]", "failed", None),
        ("[1, 0, -2, 0.5]", "failed", None),
        ("[1, 0, -2, true]", "failed", None),
        ('{"one": [0, 0, 0, 0], "two": [1, 1, 1, 1]}', "failed", None),
        ('{"actions": []}', "failed", None),
        ("I believe nothing.", "failed", None),
        ("", "failed", None),
        ("!", "failed", None),
    ],
)
def test_what_is_read(reply: str, how: str, scores: tuple[int, ...] | None, tmp_path: Path) -> None:
    """A list of as many whole numbers as there are slots, tolerantly; anything else says nothing and is counted."""
    game = measured(asked(tmp_path, BOTH, always(reply)))
    assert game.reflection is not None

    assert {(one.how, one.scores) for one in game.reflection.beliefs} == {(how, scores)}
    assert {one.no_reply for one in game.reflection.beliefs} == {"timeout" if reply == "!" else None}
    assert [(row.beliefs, row.unreadable) for row in game.seats] == [(6, 0) if scores else (0, 6)] * 4
    if scores is None:
        assert {row.excess_reflection_vps for row in game.seats} == {None}


def test_strict_replies_are_not_mended(tmp_path: Path) -> None:
    """Where broken JSON is no reply, it is no belief either."""
    game = measured(asked(tmp_path, BOTH, always("[+1, 0, -2, 0]"), strict_replies=True))

    assert [(row.beliefs, row.unreadable) for row in game.seats] == [(0, 6)] * 4


def test_one_unreadable_observer_adds_nothing(tmp_path: Path) -> None:
    """Without seat 3's answers seat 0 is told of by two observers: 2 x 3 + 2 x 4 = 14 slots, 9 above the floor."""
    game = measured(asked(tmp_path, BOTH, lambda number, observer, target: "?" if observer == 3 else SURE))

    assert (game.seats[0].reflection_vps, game.seats[0].excess_reflection_vps) == (14.0, 9.0)
    assert [(row.beliefs, row.unreadable) for row in game.seats] == [(6, 0)] * 3 + [(0, 6)]


def test_being_asked_changes_nothing(tmp_path: Path) -> None:
    """The game without questions has all the other turns, notes, times and measures, and says nothing of beliefs."""
    plain, with_questions = logged(tmp_path / "plain", BOTH), asked(tmp_path / "asked", BOTH, always(SURE))
    first, second = (assess(episode_of(log)).model_dump(mode="json") for log in (plain, with_questions))
    added = _without_beliefs(second["metrics"])

    assert _played(plain) == _played(with_questions)
    assert added == {"reflection", "raw_reflection_vps", "reflection_vps", "excess_reflection_vps", "beliefs", "unreadable"}
    assert {**first, "trace_hash": ""} == {**second, "trace_hash": ""}
    assert b"eflection" not in plain


def test_protocols_are_not_asked() -> None:
    """A table of protocols declines every question, so nobody has a number: no nought, and no answer that could not be read."""
    task = next(task for task in SHIPPED if task.task_id == "uniform-31")
    with InProcessRuntime().open(EpisodeSpec("asked", "imap", task, 0, overrides={"reflection": "asked"})) as pod:
        SeatAgent(AgentSpec(kind="seats", name="imap")).play(task, 0, pod, Budget(), Report(agent="imap"))
        log = pod.finish()
    game = measured(log)
    assert game.reflection is not None

    assert {(one.no_reply, one.how) for one in game.reflection.beliefs} == {("declined", "failed")}
    assert len(game.reflection.beliefs) == 5 * 20
    assert {(row.excess_reflection_vps, row.beliefs, row.unreadable) for row in game.seats} == {(None, None, None)}
    assert game.means["excess_reflection_vps"] is None


def _played(log: bytes) -> list[tuple[Any, ...]]:
    """Turns and notes of the game, with their times; names of turns count barriers."""
    events = read_log(log)
    turns = [
        (e.vt, e.seat, e.phase, e.round, e.attempt, e.text, e.reply)
        for e in events
        if isinstance(e, Turned) and not e.ephemeral
    ]
    notes = [(e.vt, e.what, e.seat, e.data) for e in events if isinstance(e, Noted) and e.what != "reflection"]
    return [*turns, *notes]


def _without_beliefs(metrics: dict[str, Any]) -> set[str]:
    """Take out of a verdict's measures what beliefs added; returns the names of it."""
    names = {"raw_reflection_vps", "reflection_vps", "excess_reflection_vps", "beliefs", "unreadable", "reflection"}
    parts = [metrics, *metrics["seats"], *metrics["seat_rounds"], metrics["sums"], metrics["counts"], metrics["means"]]
    taken = {name for part in parts for name in names & part.keys()}
    for part in parts:
        for name in names & part.keys():
            del part[name]
    return taken


def test_the_option_is_named_where_it_is_set(tmp_path: Path) -> None:
    """A log that is not asked has the options that it always had."""
    logs = logged(tmp_path / "plain", BOTH), asked(tmp_path / "asked", BOTH, always(SURE))
    opened = [event for log in logs for event in read_log(log) if isinstance(event, Opened)]

    assert [event.options.get("reflection") for event in opened] == [None, "asked"]


def test_the_question_can_be_put_in_other_words(tmp_path: Path) -> None:
    """A text in its place is what every seat is asked with, and its log is sound."""
    words = {"reflection.md.j2": "{{ seat }} of {{ target }} after {{ round }}"}
    world = open_world(folder_of(tmp_path, SCENARIO), overrides={"reflection": "asked"}, texts=words)
    assert isinstance(world, SeatedWorld)
    while not world.turns.over:
        turn = world.turns.open[0]
        world.turns.answer(turn.id, Answer(SURE if turn.phase == "REFLECTION" else '{"actions": []}'))
    log = world.log.dump()

    asked_with = [e.text for e in read_log(log) if isinstance(e, Turned) and e.ephemeral]
    assert asked_with == [f"{observer} of {target} after {number}" for number in (1, 2) for observer, target in PAIRS]
    assert find_lies(episode_of(log)) == []


def test_a_task_may_ask_by_default() -> None:
    """The log leaves out the family's default alone: what a task has changed, or somebody has set, is named."""
    task = Manifest(task_id="t", family="calendar", budgets=Budgets(steps=1, virtual_seconds=1), costs={"request": 1})
    asking = task.model_copy(update={"defaults": {"reflection": "asked"}})

    assert ["reflection" in task.resolve(chosen) for chosen in ({}, {"reflection": "none"})] == [False, False]
    assert (task.resolve({"reflection": "asked"})["reflection"], asking.resolve({})["reflection"]) == ("asked", "asked")
    assert Settings.from_options(asking.resolve({"reflection": "none"})).reflection == "none"


def _note(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return next(row for row in rows if row.get("what") == "reflection")


def _turn(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return next(row for row in rows if row.get("phase") == "REFLECTION")


TAMPERED = {
    "reflection.scores is [0, 0, 0, 0], by the rules it is [3, 3, 3, 3]": lambda rows: _note(rows)["data"].update(
        scores=[0] * 4
    ),
    "reflection.target is 2, by the rules it is 1": lambda rows: _note(rows)["data"].update(target=2),
    "reflection.how is 'repaired', by the rules it is 'strict'": lambda rows: _note(rows)["data"].update(how="repaired"),
    "must only measure": lambda rows: _turn(rows).update(ephemeral=False),
    "must not only measure": lambda rows: next(row for row in rows if row.get("phase") == "DECISION").update(ephemeral=True),
    "was shown a calendar": lambda rows: _turn(rows).update(text="Slot 0: [FREE]"),
    "was given 1 messages, 0 had been sent": lambda rows: _turn(rows).update(text="[1] From agent 2: hello"),
    "a note 'reflection' of seat 0 must stand here": lambda rows: rows.remove(_note(rows)),
    "REFLECTION of round 1 is not over": lambda rows: rows.remove(_turn(rows)),
    "by the rules it is None": lambda rows: _note(rows)["data"].update(no_reply="declined"),
    "a note 'round_start' must stand here": lambda rows: rows[0]["options"].pop("reflection"),
}


@pytest.mark.parametrize("why", TAMPERED)
def test_what_the_world_says_of_answers_is_held_against_them(why: str, tmp_path: Path) -> None:
    """Scores, targets and turns that the replies do not give are lies."""
    lies = find_lies(retold(asked(tmp_path, BOTH, always(SURE)), TAMPERED[why]))

    assert any(why in lie for lie in lies), lies


@pytest.mark.parametrize("scores", [[4, 0, 0, 0], [0, 0, 0], "none", [None] * 4, None])
def test_mended_answers_are_scores_all_the_same(scores: Any, tmp_path: Path) -> None:
    """What the world says that it mended a reply to must be an answer."""
    log = asked(tmp_path, BOTH, always("[+1, 0, -2, 0]"))

    assert find_lies(retold(log, lambda rows: _note(rows)["data"].update(scores=scores)))
    assert find_lies(retold(log, lambda rows: _note(rows)["data"].update(scores=[1, 0, -2, 0]))) == []


@pytest.mark.parametrize("part", spread(range(4), few=1))
def test_games_may_stop_anywhere(part: int, tmp_path: Path) -> None:
    """However far a game gets, its log is sound; rounds whose questions were not all answered count what was."""
    for turns in range(part, 60, 4):
        measured(asked(tmp_path, BOTH, always(SURE), turns=turns))


@pytest.mark.parametrize("seed", range(6))
def test_hostile_answers(seed: int, tmp_path: Path) -> None:
    """Seats that answer anything, in games that go anyhow, leave sound logs."""
    draw = random.Random(seed)
    seat, odd = hostile(draw, 4), (SURE, "[+1, 0, 0, 0]", "[", "[[1]]", "!", "", "null", "[NaN, 0, 0, 0]", "[1e999, 0, 0, 0]")

    def reply(turn: OpenTurn) -> str:
        return draw.choice(odd) if turn.phase == "REFLECTION" else seat(turn)

    options = {"reflection": "asked", "failed_rounds": draw.choice(["undo", "keep"]), "channels": "dm+all", "outcomes": "told"}
    episode = episode_of(play(folder_of(tmp_path, SCENARIO), reply, options).log.dump())

    assert find_lies(episode) == []
    assert len(replay(episode).reflected) == 24
