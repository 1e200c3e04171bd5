"""One document an episode: what it is of, and every word that its seats said, whoever held them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parley.interop.atif import whole_trajectory
from parley.reports.reading import RecordedEpisode
from tests.harness.agents.atif import SCHEMA
from tests.parley.interop.recorded import recorded


def document_of(episode: RecordedEpisode) -> dict[str, Any]:
    """The trajectory of an episode, once ATIF's schema holds."""
    file = Path(episode.path) / "trajectory.json"
    document = whole_trajectory(episode, json.loads(file.read_bytes()) if file.exists() else None)
    SCHEMA.validate(document)
    for one in (document, *document.get("subagent_trajectories", ())):
        assert [step["step_id"] for step in one["steps"]] == list(range(1, len(one["steps"]) + 1))
    return document


def test_a_game_of_protocols_tells_its_talk(tmp_path: Path) -> None:
    """Each seat is a trajectory with its rules, what it was told and its replies; the game has all replies in order."""
    episode = next(recorded(tmp_path, "imap"))
    document = document_of(episode)
    seats = document["subagent_trajectories"]
    replies = [step["message"] for seat in seats for step in seat["steps"] if step["source"] == "agent"]
    told = document["steps"][1:]

    assert [seat["agent"]["name"] for seat in seats] == [f"seat {number}" for number in range(5)]
    assert [seat["steps"][0]["source"] for seat in seats] == ["system"] * 5
    assert len({seat["trajectory_id"] for seat in seats}) == 5
    assert document["steps"][0]["message"] == episode.instruction
    assert len(told) == len(replies) > 50
    assert sorted(step["message"].partition(": ")[2] for step in told) == sorted(replies)
    assert [step["extra"]["seq"] for step in told] == sorted(step["extra"]["seq"] for step in told)


def test_extra_says_what_an_episode_was_worth(tmp_path: Path) -> None:
    """Task, seed, attempt, agent, model, reward, label and success; of one that was lost no reward, label or success."""
    _, alone, lost = recorded(tmp_path)
    extra = {"family": "contract", "seed": 0, "attempt": 1, "agent": "nop", "model": None, "disturbed": {}, "forfeits": []}

    assert document_of(alone)["extra"] == {
        **extra, "task_id": alone.result.task_id, "reward": 0.0, "label": "OTHER", "success": False,
        "ended_by": None,
    }  # fmt: skip
    assert document_of(lost)["extra"] == {
        **extra, "task_id": lost.result.task_id, "reward": None, "label": None, "success": None,
        "ended_by": "verifier_failure",
    }  # fmt: skip


def test_what_was_recorded_stays(tmp_path: Path) -> None:
    """A recorded trajectory of a seat is kept as it is, and what stands in its place elsewhere is made from the log."""
    episode = next(recorded(tmp_path, "imap"))
    own = {
        "schema_version": "ATIF-v1.8", "trajectory_id": "own", "agent": {"name": "seat 3", "version": "1"},
        "steps": [{"step_id": 1, "source": "system", "message": "kept"}],
    }  # fmt: skip
    given = {"agent": {"name": "game", "version": "7"}, "steps": [], "subagent_trajectories": [own], "extra": "no object"}
    document = whole_trajectory(episode, given)

    assert document["agent"] == {"name": "imap", "version": "7"}
    assert document["subagent_trajectories"][3] == own
    assert len(document["subagent_trajectories"]) == 5
    assert document["extra"]["task_id"] == episode.result.task_id
