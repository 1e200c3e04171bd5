"""What `harness export harbor-job` writes; that Harbor reads it is tested in tests/readers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from parley.interop.atif import whole_trajectory
from parley.interop.harbor_job import HarborJob, trial_name
from parley.reports.reading import RecordedEpisode
from tests.parley.interop.recorded import recorded

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def job_of(folder: Path, episodes: list[RecordedEpisode]) -> dict[str, Any]:
    """The result.json of a job of these episodes."""
    job = HarborJob(folder, "a-run", BEGAN, {episode.result.task_id: "a digest" for episode in episodes})
    for episode in episodes:
        job.add(episode, whole_trajectory(episode), b"what the tests printed\n")
    job.close()
    return read(folder, "result.json")


def read(folder: Path, name: str) -> dict[str, Any]:
    """A document of a job."""
    document: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return document


def test_a_trial_has_what_harbor_wants(tmp_path: Path) -> None:
    """Config, result, trajectory, reward and the tests' own words; the phases follow each other from the beginning."""
    episode = next(recorded(tmp_path / "run", "imap"))
    job_of(tmp_path / "job", [episode])
    folder = tmp_path / "job" / trial_name(episode.result)
    trial, timings = read(folder, "result.json"), episode.result.timings

    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "agent/agent.log", "agent/trajectory.json", "config.json", "result.json", "verifier/reward.json",
        "verifier/test-stdout.txt",
    ]  # fmt: skip
    assert trial["config"] == read(folder, "config.json")
    assert (trial["task_name"], trial["source"]) == (f"parley/{episode.result.task_id}", "parley-calendar")
    assert trial["task_checksum"] == "a digest"
    assert read(folder, "verifier/reward.json") == trial["verifier_result"]["rewards"] == {"reward": 1.0}
    assert len(read(folder, "agent/trajectory.json")["subagent_trajectories"]) == 5
    assert trial["environment_setup"]["started_at"] == trial["started_at"] == BEGAN.isoformat()
    assert trial["environment_setup"]["finished_at"] == trial["agent_execution"]["started_at"]
    passed = datetime.fromisoformat(trial["finished_at"]) - BEGAN
    assert passed.total_seconds() == pytest.approx(timings.total, abs=1e-5)


def test_a_lost_episode_is_an_exception_and_no_reward(tmp_path: Path) -> None:
    """It counts among the errors, in no mean, and says which boundary failed."""
    episodes = list(recorded(tmp_path / "run"))
    stats = job_of(tmp_path / "job", episodes)["stats"]
    lost = trial_name(episodes[2].result)
    trial = read(tmp_path / "job" / lost, "result.json")

    assert (stats["n_completed_trials"], stats["n_errored_trials"]) == (3, 1)
    assert stats["evals"]["nop__parley-contract"]["exception_stats"] == {"VerifierFailure": [lost]}
    assert stats["evals"]["nop__parley-contract"]["metrics"] == [{"mean": 0.0}]
    assert trial["verifier_result"] is None
    assert trial["exception_info"]["exception_type"] == "VerifierFailure"
    assert not (tmp_path / "job" / lost / "verifier" / "reward.json").exists()


def test_pass_at_k_is_that_of_the_attempts(tmp_path: Path) -> None:
    """Of four attempts of which one won, two drawn hold it half of the time."""
    episode = next(recorded(tmp_path / "run", "imap"))
    tries = [
        episode.model_copy(update={"result": episode.result.model_copy(update={"attempt": number, "reward": reward})})
        for number, reward in enumerate((0.0, 1.0, 0.0, 0.0), start=1)
    ]
    told = job_of(tmp_path / "job", tries)["stats"]["evals"]["imap__parley-calendar"]

    assert told["pass_at_k"] == {"2": 0.5, "4": 1.0}
    assert told["metrics"] == [{"mean": 0.25}]
    assert {reward: len(names) for reward, names in told["reward_stats"]["reward"].items()} == {"0.0": 3, "1.0": 1}


def test_models_and_tokens_are_told(tmp_path: Path) -> None:
    """A model is cut into provider and name, its tokens and dollars are summed over the job."""
    episode = next(recorded(tmp_path / "run", "imap"))
    tokens = episode.result.tokens.model_copy(update={"calls": 3, "prompt": 100, "completion": 10, "cached": 4})
    update = {"model": "openai/a-model", "tokens": tokens, "cost_usd": 0.5}
    tries = [
        episode.model_copy(update={"result": episode.result.model_copy(update={**update, "attempt": number})})
        for number in (1, 2)
    ]
    stats = job_of(tmp_path / "job", tries)["stats"]
    trial = read(tmp_path / "job" / trial_name(tries[1].result), "result.json")

    assert trial["agent_info"]["model_info"] == {"name": "a-model", "provider": "openai"}
    assert list(stats["evals"]) == ["imap__a-model__parley-calendar"]
    assert (stats["n_input_tokens"], stats["n_cache_tokens"], stats["n_output_tokens"]) == (200, 8, 20)
    assert stats["cost_usd"] == 1.0
