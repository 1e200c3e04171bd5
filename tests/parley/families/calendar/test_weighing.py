"""Answers weighed by their tokens: expectations worked by hand, and games of models whose server names probabilities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.agent import SeatSpec, Usage
from harness.agents.llm.completion import Completion, TokenChances
from parley.families.calendar.expected_belief import expectations, weighed
from parley.families.calendar.report import report
from parley.families.calendar.trace import replayed
from parley.families.calendar.trace.exporting import exported
from parley.reports.reading.episode import read_episode
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, ScriptedReply
from tests.harness.agents.imap_model import Messages, imap
from tests.parley.families.calendar.model_runs import TASKS, gathered, guests, played
from tests.validators.calendar.reflecting_games import always, asked, measured
from tests.worlds.calendar.hostile_games import retold
from tests.worlds.calendar.scripted_games import agreed
from validators.calendar.replay import find_lies

BOTH = {**agreed(1, 2), **agreed(2, 3)}
SURE = "[3, 3, 3, 3]"
QUESTION = "A question to you alone"


def tokens(*said: str | tuple[str, Mapping[str, float]]) -> list[TokenChances]:
    """Tokens; those without chances could be nothing else."""
    return [TokenChances(one, {one: 1.0}) if isinstance(one, str) else TokenChances(*one) for one in said]


def completion(*said: str | tuple[str, Mapping[str, float]], text: str | None = None) -> Completion:
    """An answer in tokens; its text is theirs unless told."""
    made = tokens(*said)
    return Completion("".join(one.text for one in made) if text is None else text, {}, Usage(), chances=tuple(made))


HALF = ("3", {"3": 0.5, "1": 0.3, "slot": 0.2})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # (3 x .5 + 1 x .3) / (.5 + .3): the token that is no number is left out; what could be nothing else is itself
        (["[", HALF, ", ", "2", "]"], [2.25, 2.0]),
        # the same number by two tokens: (0 x .5 + 1 x .25 + 1 x .25) / 1
        (["[", ("0", {"0": 0.5, "1": 0.25, " 1": 0.25}), ",", "0", "]"], [0.5, 0.0]),
        # a minus of its own: (2 x .4 - 3 x .6 x .5 - 1 x .6 x .5) / 1
        (["[", ("-", {"-": 0.6, "2": 0.4}), ("3", {"3": 0.5, "1": 0.5}), ",", " 1", "]"], [-0.4, 1.0]),
        # a sign that was not written has no digit that is known: (2 x .4) / .4
        (["[", ("2", {"2": 0.4, "-": 0.6}), ",", ("-1", {"-1": 0.75, "1": 0.25}), "]"], [2.0, -0.5]),
        # brackets and commas in the number's token: only what begins alike is weighed
        (["[0", (", -", {", -": 0.5, ", ": 0.5}), ("1", {"1": 0.5, "3": 0.5}), "]"], [0.0, -2.0]),
        (["[", ("3", {"3": 0.5, "30": 0.5}), ",0]"], [3.0, 0.0]),
    ],
)
def test_expectations_by_hand(said: list[Any], expected: list[float]) -> None:
    """The mean over the numbers that could have stood there, by their probabilities."""
    assert expectations(tokens(*said), 2) == pytest.approx(expected)


@pytest.mark.parametrize(
    "said",
    [
        completion(),
        completion("[", "1", ",", "2", ",", "3", "]"),
        completion("[1,2] or [2,1]"),
        completion("I do not know."),
        completion("[", ("1", {"one": 0.5}), ",", "2]"),
        completion("[1,2]", text="[2,1]"),
        completion("[1,2]", text="I do not know."),
    ],
)
def test_what_its_tokens_do_not_tell_counts_as_written(said: Completion) -> None:
    """Without chances, of another length, twice, or with tokens that are not the text's, the reply is the model's own."""
    assert weighed(said, 2) == said.text


def test_weighed_reply_holds_both() -> None:
    """The reply itself stands beside its expectations, whatever else it says."""
    assert json.loads(weighed(completion("Well: [", HALF, ",2]"), 2)) == {"said": "Well: [3,2]", "expected": [2.25, 2.0]}


def weighing(said: Any, expected: Any) -> str:
    """A reply with expectations."""
    return json.dumps({"said": said, "expected": expected})


def test_expectations_count_in_place_of_numbers(tmp_path: Path) -> None:
    """Three observers expect 1.5, 0, -0.75 and 0 of seat 0, taken in slots 0, 1, 2 and then in all.

    Raw: 3 x 2 x 2.25/3 = 4.5. Right is the 1.5 alone: 3 x 2 x 1.5/3 = 3.
    """
    game = measured(asked(tmp_path, BOTH, always(weighing(SURE, [1.5, 0, -0.75, 0])), reflection="expected"))
    assert game.reflection is not None

    assert (game.seats[0].raw_reflection_vps, game.seats[0].reflection_vps) == (4.5, 3.0)
    assert [(row.beliefs, row.unreadable, row.weighed) for row in game.seats] == [(6, 0, 6)] * 4
    assert {(one.scores, one.expected) for one in game.reflection.beliefs} == {((3, 3, 3, 3), (1.5, 0.0, -0.75, 0.0))}


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        (SURE, (6, 0, 0)),
        (weighing(SURE, None), (6, 0, 0)),
        (weighing(SURE, [1.5, 0, 0]), (6, 0, 0)),
        (weighing(SURE, [3.5, 0, 0, 0]), (6, 0, 0)),
        (weighing("[+3, 0, 0, 0]", [0.5, 0, 0, 0]), (6, 0, 6)),
        (weighing("?", [1.5, 0, 0, 0]), (0, 6, 0)),
        (weighing(3, [1.5, 0, 0, 0]), (0, 6, 0)),
        ("{'said': '[3, 3, 3, 3]', 'expected': [1.5, 0, 0, 1]}", (0, 6, 0)),
    ],
)
def test_what_is_weighed(reply: str, counted: tuple[int, int, int], tmp_path: Path) -> None:
    """Expectations beside a reply that can be read; without them it counts as written, and alone they say nothing."""
    game = measured(asked(tmp_path, BOTH, always(reply), reflection="expected"))

    assert {(row.beliefs, row.unreadable, row.weighed) for row in game.seats} == {counted}


def test_nothing_is_weighed_where_nobody_asked(tmp_path: Path) -> None:
    """With `asked` what such an object says is read, and its expectations are not."""
    game = measured(asked(tmp_path, BOTH, always(weighing(SURE, [1.5, 0, 0.5, 0]))))

    assert {(row.beliefs, row.unreadable, row.weighed) for row in game.seats} == {(6, 0, None)}


def test_expectations_in_a_log_are_the_replies(tmp_path: Path) -> None:
    """Others than the reply has are a lie."""
    log = asked(tmp_path, BOTH, always(weighing(SURE, [1.5, 0, 0, 0])), reflection="expected")

    def change(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row.get("what") == "reflection")["data"]["expected"] = [0.0] * 4

    assert find_lies(retold(log, lambda rows: None)) == []
    assert any("reflection.expected is [0.0, 0.0, 0.0, 0.0]" in lie for lie in find_lies(retold(log, change)))


NAMED = ("[", *(part for slot in range(16) for part in ((", ", HALF) if slot else (HALF,))), "]")
WRITTEN = json.dumps([3] * 16)
REPLIES = {
    "open": ScriptedReply(text=WRITTEN, tokens=tuple((one.text, dict(one.chances)) for one in tokens(*NAMED))),
    "silent": ScriptedReply(text=WRITTEN),
    "closed": ScriptedReply(text=WRITTEN),
}


def script(name: str) -> Script:
    """A model that plays IMAP and gives its one answer to every question; the closed one refuses to be asked for chances."""

    def play(messages: Messages) -> ScriptedReply | str:
        return REPLIES[name] if QUESTION in messages[-1]["content"] else imap(messages)

    return Script(model=name, play=play, refuses=("logprobs",) if name == "closed" else ())


@pytest.mark.property
def test_models_whose_provider_names_probabilities(tmp_path: Path) -> None:
    """Seat 1's provider does, seat 2's says nothing of it, seat 3's refuses to be asked; the others play IMAP.

    Every number of seat 1 is written as 3 and expected as 2.25, so each answer is 16 x 2.25 / 3 = 12 slots; those of the two
    others are 16 x 3 / 3 = 16. Seats 0 and 4 are told of by all three.
    """
    task = next(task for task in TASKS if task.task_id == "uniform-31")
    seats = (SeatSpec(seat=seat, kind="model", name=f"openai/{name}") for seat, name in enumerate(REPLIES, start=1))
    with OpenAIServer(*map(script, REPLIES)) as server:
        (result,) = played(tmp_path / "run", server.url, guests(*seats), [task], reflection="expected")
    rows = result.metrics["seats"]
    weighed_for = [one for one in server.requests if one.body.get("logprobs")]

    assert [row.get("weighed") for row in rows] == [None, 20, 0, 0, None]
    assert [row["raw_reflection_vps"] for row in rows] == [5 * (12 + 16 + 16), 5 * 32, 5 * 28, 5 * 28, 5 * 44]
    assert all(QUESTION in one.messages[-1]["content"] for one in weighed_for)
    assert 1 <= sum(one.body["model"] == "closed" for one in weighed_for) < 20
    assert replayed(json.loads(exported(read_episode(Path(result.path))).text())).differences == ()
    (table, *_) = report(gathered(tmp_path), ["seats"], published=False)
    assert any("20 of 60 answers that could be read count by token probabilities" in note for note in table.notes)
