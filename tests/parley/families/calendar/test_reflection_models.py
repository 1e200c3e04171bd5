"""Models that are asked what they believe, through LiteLLM and the local server: their numbers, to the digit.

At `uniform-31` seat 0 plays IMAP as a policy, and models that play IMAP hold the others: seat 1 answers 3 of every slot, seat 2
the truth, seat 3 something that cannot be read, seat 4 nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.agent import Budget, SeatSpec
from harness.records import Result
from parley.families.calendar.reading import sections
from parley.families.calendar.report import report
from parley.families.calendar.trace import replayed
from parley.families.calendar.trace.exporting import exported
from parley.reports.reading.episode import read_episode
from parley.reports.table import Table
from parley.testing.openai_server import OpenAIServer, Received
from parley.testing.scripts import Script
from tests.harness.agents.imap_model import Messages, imap
from tests.parley.families.calendar.model_runs import TASKS, gathered, guests, played
from tests.validators.calendar.reflecting_games import target_of
from tests.worlds.calendar.hostile_games import episode_of
from validators.calendar.reflections import Occupancy, true_calendars
from validators.calendar.replay import replay
from worlds.core.events import Turned, read_log

TASK = next(task for task in TASKS if task.task_id == "uniform-31")
QUESTION = "A question to you alone"
SLOTS, ROUNDS, SEATS = 16, 5, range(5)
NAMES = ("sure", "knowing", "babbling", "mute")

pytestmark = pytest.mark.property


class Games(NamedTuple):
    """One task played twice by the same table, without questions and with them."""

    plain: Result
    asked: Result
    truth: Mapping[tuple[int, int], Occupancy]
    """Round and target -> what stood at its end."""

    requests: list[Received]
    """Of the second game."""

    root: Path
    within: Result
    """The second game once more, with no more turns than the first took."""


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Games]:
    """Both games; the knowing model is told by the first what was true in the second."""
    root = tmp_path_factory.mktemp("reflection")
    known: dict[tuple[int, int], Occupancy] = {}

    def knowing(messages: Messages) -> str:
        text = messages[-1]["content"]
        if QUESTION not in text:
            return imap(messages)
        number = int(text.removeprefix("Round ").partition(" ")[0])
        return json.dumps([3 if taken else -3 for taken in known[number, target_of(text)]])

    def answering(answer: str) -> Any:
        return lambda messages: answer if QUESTION in messages[-1]["content"] else imap(messages)

    replies = {"sure": answering(json.dumps([3] * SLOTS)), "babbling": answering("I trust them [all]."), "mute": answering("")}
    scripts = [Script(model=name, play=play) for name, play in {**replies, "knowing": knowing}.items()]
    table = guests(*(SeatSpec(seat=seat, kind="model", name=f"openai/{name}") for seat, name in enumerate(NAMES, start=1)))
    with OpenAIServer(*scripts) as running:
        (plain,) = played(root / "plain", running.url, table, [TASK])
        known.update(true_calendars(replay(episode_of(_log(plain)))))
        before = len(running.requests)
        (result,) = played(root / "asked", running.url, table, [TASK], reflection="asked")
        requests, enough = running.requests[before:], Budget(turns=max(seat.tokens.calls for seat in plain.seats) + 1)
        (within,) = played(root / "within", running.url, table, [TASK], budget=enough, reflection="asked")
        yield Games(plain, result, known, requests, root, within)


def _log(result: Result) -> bytes:
    return (Path(result.path) / "events.jsonl").read_bytes()


def test_numbers_are_those_worked_by_hand(games: Games) -> None:
    """Of each target the sure one told as many slots as were taken, the knowing one all 16, in each of five rounds.

    So seat 1 lost 5 x 16 = 80 to the knowing one alone and is 75 above the floor, seat 2 what its calendar held, and the others
    both. Raw loss is 16 slots a readable answer and round. Who could not be read adds nothing.
    """
    for row in games.asked.metrics["seats"]:
        taken = sum(sum(games.truth[number, row["seat"]]) for number in range(1, ROUNDS + 1))
        sure, knowing = (taken if row["seat"] != 1 else 0), (ROUNDS * SLOTS if row["seat"] != 2 else 0)
        raw = ROUNDS * SLOTS * ((row["seat"] != 1) + (row["seat"] != 2))

        assert (row["raw_reflection_vps"], row["reflection_vps"]) == (raw, sure + knowing)
        assert row["excess_reflection_vps"] == sure + knowing - 5
    for row in games.asked.metrics["seat_rounds"]:
        taken = sum(games.truth[row["round"], row["seat"]])
        assert row["reflection_vps"] == taken * (row["seat"] != 1) + SLOTS * (row["seat"] != 2)


def test_what_could_not_be_read_is_counted(games: Games) -> None:
    """Four others in five rounds are 20 answers a model; the protocol was not asked, so it has neither."""
    counted = [(row.get("beliefs"), row.get("unreadable")) for row in games.asked.metrics["seats"]]
    beliefs = json.loads((Path(games.asked.path) / "verdict.json").read_bytes())["metrics"]["reflection"]["beliefs"]

    assert counted == [(None, None), (20, 0), (20, 0), (0, 20), (0, 20)]
    assert {one["no_reply"] for one in beliefs if one["observer"] == 0} == {"declined"}
    assert {(one["how"], one["no_reply"]) for one in beliefs if one["observer"] > 2} == {("failed", None)}
    assert all(one["raw"] is None for one in beliefs if one["scores"] is None)


def test_the_game_is_the_same(games: Games) -> None:
    """Every message, batch and measure is that of the game without questions."""
    plain, asked = ([e for e in read_log(_log(game)) if isinstance(e, Turned)] for game in (games.plain, games.asked))
    same = ("coordination", "paid", "excess", "messages", "vps", "excess_vps", "adjusted_cost", "fairness")

    assert [(e.seat, e.text, e.reply) for e in plain] == [(e.seat, e.text, e.reply) for e in asked if not e.ephemeral]
    assert (games.plain.reward, games.plain.failure_label) == (games.asked.reward, games.asked.failure_label)
    for name in same:
        assert [row[name] for row in games.plain.metrics["seats"]] == [row[name] for row in games.asked.metrics["seats"]]


def test_questions_take_no_turns_of_the_budget(games: Games) -> None:
    """A game that is allowed no more turns than it takes without questions is not cut short by them."""
    assert (games.within.stopped_by, games.within.trace_hash) == (None, games.asked.trace_hash)


def test_no_conversation_keeps_a_question(games: Games) -> None:
    """A question is the last message of its own request, to the byte, and stands in no other."""
    sent = [[message["content"] for message in one.messages] for one in games.requests]
    questions = [texts[-1] for texts in sent if QUESTION in texts[-1]]
    logged = [e.text for e in read_log(_log(games.asked)) if isinstance(e, Turned) and e.ephemeral and e.no_reply is None]

    assert not any(QUESTION in text for texts in sent for text in texts[:-1])
    assert sorted(questions) == sorted(logged)
    assert len(questions) == 4 * 20


def test_trace_rebuilds_the_measure(games: Games) -> None:
    """The exported file is of the second schema, and playing it again gives every event and measure."""
    document = json.loads(exported(read_episode(Path(games.asked.path))).text())
    told = [event["data"] for event in document["events"] if event["type"] == "reflection"]

    assert document["schema"] == "parley-calendar-trace/2"
    assert replayed(document).differences == ()
    assert len(told) == 5 * 20
    for one in told:
        taken = games.truth[one["round"], one["target_agent"]]
        assert one["target_taken_slots"] == [slot for slot, is_taken in enumerate(taken) if is_taken]
    told[0]["scores"], told[-1]["target_taken_slots"] = [0] * SLOTS, []
    assert len(replayed(document).differences) == 2


def test_recording_answers_as_it_did(games: Games) -> None:
    """The five seats of the recorded game again, the one that declined included, give its log to the byte."""
    again = guests(*(SeatSpec(seat=seat, kind="replay", name=games.asked.path) for seat in SEATS))
    (result,) = played(games.root / "again", None, again, [TASK], reflection="asked")

    assert result.trace_hash == games.asked.trace_hash


def test_shown_episode_tells_beliefs(games: Games) -> None:
    """`harness show` has a table of them, and none for the game without questions."""
    shown = [
        [section for section in sections(read_episode(Path(game.path))) if section.title.startswith("Beliefs")]
        for game in (games.plain, games.asked)
    ]

    assert shown[0] == []
    ((table,),) = (shown[1],)
    assert [row[3:] for row in table.rows] == [
        (row["excess_reflection_vps"], row.get("beliefs"), row.get("unreadable")) for row in games.asked.metrics["seats"]
    ]


def _tables(root: Path) -> dict[str, Table]:
    return {table.name: table for table in report(gathered(root), [], published=False)}


def test_tables_fill_from_it(games: Games) -> None:
    """The seats table has the excess of models and of the protocol, in a column of its own; ratings have their privacy."""
    tables = _tables(games.root / "asked")
    excess = {row["seat"]: row["excess_reflection_vps"] for row in games.asked.metrics["seats"]}
    models = {row["player"]: row["reflection_vps"] for row in tables["seats"].rows if row["setting"] == "uniform"}
    (protocol,) = (row for row in tables["seats-protocols"].rows if row["setting"] == "uniform")

    assert models == {f"openai/{name}": excess[seat] for seat, name in enumerate(NAMES, start=1)}
    assert (protocol["reflection_vps"], protocol["protocol_vps"]) == (excess[0], games.asked.metrics["seats"][0]["excess_vps"])
    assert any("40 of 80 answers about beliefs could not be parsed" in note for note in tables["seats"].notes)
    rated = {
        row["player"]: row["privacy_mean"]
        for row in report(gathered(games.root / "asked"), ["ratings"], published=False)[0].rows
    }
    assert rated == models
    assert {row["measure"] for row in tables["first-speaker"].rows} >= {"protocol VPS", "reflection VPS"}


def test_tables_of_games_without_questions(games: Games) -> None:
    """Nothing was measured, so nothing is said: a dash, no nought."""
    tables = _tables(games.root / "plain")

    assert {row["reflection_vps"] for row in tables["seats"].rows} == {None}
    assert not any("answers about beliefs" in note for note in tables["seats"].notes)
