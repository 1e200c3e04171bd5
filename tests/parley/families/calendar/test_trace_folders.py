"""Traces written as runs: what an episode earned is worked out anew, and what was never graded stays so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from parley.families.calendar.trace.exporting import exported, read_trace, record_of
from parley.families.calendar.trace.folders import TracedGame, verdict, write_runs
from parley.families.calendar.trace.game import rebuilt
from parley.reports.evidence import read_runs
from parley.reports.reading import RecordedEpisode
from tests.parley.families.calendar.tracing import Document, as_read, of_type, recorded
from tests.worlds.calendar.scripted_games import agreed, logged

SCRIPT = {**agreed(1, 2), **agreed(2, 3)}


def document_of(episode: RecordedEpisode, **told: Any) -> Document:
    """The trace of an episode with something else in its result."""
    result = episode.result.model_copy(update=told)
    return as_read(exported(episode.model_copy(update={"result": result}), "digest").text())


def traced(document: Document, path: str = "trace.json") -> TracedGame:
    """A game out of a file."""
    record = record_of(read_trace(document))
    return TracedGame(Path(path), record, rebuilt(record), ours=True)


@pytest.fixture
def episode(tmp_path: Path) -> RecordedEpisode:
    """A game in which both meetings were scheduled."""
    return recorded(logged(tmp_path / "game", SCRIPT))


def test_what_was_not_graded_stays_ungraded(episode: RecordedEpisode, tmp_path: Path) -> None:
    """A provider that failed is the cause still, and there is no verdict."""
    made = document_of(episode, status="ungraded", cause="provider", error="no answer")
    write_runs([traced(made)], tmp_path / "run")
    ((result,),) = (run.results for run in read_runs([tmp_path / "run"]))

    assert (result.status, result.cause, result.error, result.reward) == ("ungraded", "provider", "no answer", None)
    assert sorted(path.name for path in Path(result.path).iterdir()) == ["agent.log", "events.jsonl", "result.json"]


def test_what_a_file_says_it_earned_is_not_believed(episode: RecordedEpisode, tmp_path: Path) -> None:
    """Its reward is that of the replies, whatever its measures say."""
    made = document_of(episode)
    made["metrics"]["reward"] = made["metrics"]["scheduled"] = 0
    write_runs([traced(made)], tmp_path / "run")
    ((result,),) = (run.results for run in read_runs([tmp_path / "run"]))

    assert (result.reward, result.success, result.metrics["scheduled"]) == (1.0, True, 2)


def test_a_prompt_that_shows_another_calendar_earns_nothing(episode: RecordedEpisode) -> None:
    """As when it was played: a log in which something is not true is worth 0, and the check says what."""
    made = document_of(episode)
    shown = of_type(made, "turn_start")[0]
    shown["prompt_sent"] = shown["prompt_sent"].replace("Slot 2: [FREE]", "Slot 2: Errand #9 (cost=1)")
    judged = verdict(traced(made))

    assert (judged.reward, judged.success, judged.failure_label) == (0.0, False, "OTHER")
    assert [(check.name, check.ok) for check in judged.checks] == [("test_log_is_true", False)]
    assert "was not shown its calendar" in judged.checks[0].message
    assert verdict(traced(document_of(episode))).reward == 1.0


def test_line_ups_are_runs_of_their_own(episode: RecordedEpisode, tmp_path: Path) -> None:
    """Two runs, and one of them under two sets of options: three folders; two attempts of one run: one folder."""
    games = [
        traced(document_of(episode, run="a")), traced(document_of(episode, run="a", attempt=2)),
        traced(document_of(episode, run="a", options={"profile": "text"})), traced(document_of(episode, run="b")),
    ]  # fmt: skip
    write_runs(games, tmp_path / "all")
    runs = {run.path.name: [result.attempt for result in run.results] for run in read_runs([tmp_path / "all"])}

    assert runs == {"a": [1, 2], "a-1": [1], "b": [1]}


def test_nothing_is_written_over(episode: RecordedEpisode, tmp_path: Path) -> None:
    """A folder that holds something is refused, and one game in two files too."""
    game = traced(document_of(episode))
    write_runs([game], tmp_path / "run")
    with pytest.raises(UsageError, match="is not empty"):
        write_runs([game], tmp_path / "run")
    with pytest.raises(UsageError, match=r"one\.json and two\.json are both calendar/t/s0-a1"):
        write_runs([traced(document_of(episode), "two.json"), traced(document_of(episode), "one.json")], tmp_path / "other")


def test_variants_set_an_imported_game_apart(episode: RecordedEpisode, tmp_path: Path) -> None:
    """A seat that was told more than its rules stands among the options, and its prompt in the trajectory."""
    first, *others = episode.conversations
    rules, *said = first.utterances
    nosy = first.model_copy(update={"utterances": (rules.model_copy(update={"text": f"{rules.text}\n\nPry."}), *said)})
    write_runs([traced(document_of(episode.model_copy(update={"conversations": (nosy, *others)})))], tmp_path / "run")
    ((result,),) = (run.results for run in read_runs([tmp_path / "run"]))
    trajectory = json.loads((Path(result.path) / "trajectory.json").read_text())

    assert result.options == {"origin": "imported", "variants": "0"}
    assert [one["agent"]["name"] for one in trajectory["subagent_trajectories"]] == ["seat 0"]
    assert trajectory["subagent_trajectories"][0]["steps"][0]["message"].endswith("Pry.")
