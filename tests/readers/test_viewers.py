"""Other people's viewers open our runs: `harbor view` by its API, and Scout by its own reader and importer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.readers.asking import read_by

pytestmark = pytest.mark.readers


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory, harness: Callable[..., CompletedProcess[str]]) -> Path:
    """Three runs, two of games that policies play and one of two tasks twice, exported for all viewers."""
    folder = tmp_path_factory.mktemp("viewers")
    runs = {
        "calendar": ("uniform-01", "--agent", "imap"),
        "hidden-profile": ("airliner-by-night", "--agent", "pool"),
        "contract": ("csrf-form-submit", "presigned-url-download", "--k", "2"),
    }
    for name, arguments in runs.items():
        done = harness("run", *arguments, "--runtime", "inprocess", "--yes", "--out", folder / "runs" / name)
        assert done.returncode == 0, done.stderr
    for form in ("inspect", "harbor-job", "scout"):
        done = harness("export", form, folder / "runs", "--out", folder / form)
        assert done.returncode == 0, done.stderr
    return folder


def test_harbor_view_lists_jobs_and_trials(exports: Path) -> None:
    """Each run is a job with its mean reward, each episode a trial with its reward, talk and verifier."""
    told = read_by("harbor", exports / "harbor-job", script="view.py")
    (contract,) = [job for job in told["jobs"].values() if "parley-contract" in job["datasets"]]
    (games,) = [job for job in told["jobs"].values() if "parley-calendar" in job["datasets"]]
    game = games["trials"]["uniform-01__s0-a1"]

    assert set(told["jobs"]) == set(told["checked"])
    assert (contract["n_completed_trials"], contract["n_errored_trials"], games["n_completed_trials"]) == (4, 0, 1)
    assert contract["evals"] == {"oracle__parley-contract": {"metrics": [{"mean": 1.0}]}}
    assert {trial["task_name"]: trial["reward"] for trial in contract["trials"].values()} == {
        "parley/csrf-form-submit": 1.0,
        "parley/presigned-url-download": 1.0,
    }
    assert len(game["steps"]) > 50
    assert {step.partition(":")[0] for step in game["steps"][1:]} == {f"seat {seat}" for seat in range(5)}
    assert game["verifier"]["reward"] == {"reward": game["reward"]}
    assert "test_log_is_true" in game["verifier"]["stdout"]


def test_harbors_models_take_every_file(exports: Path) -> None:
    """Rewards are valid, pass@2 is told, a game's seats are trajectories inside it, and `extra` says what it was worth."""
    told = read_by("harbor", exports / "harbor-job", script="view.py")["checked"]
    trials = {name: trial for job in told.values() for name, trial in job["trials"].items()}
    evals = {key: one for job in told.values() for key, one in job["stats"]["evals"].items()}

    assert len(trials) == 6
    assert all(trial["valid"] for trial in trials.values())
    assert evals["oracle__parley-contract"]["pass_at_k"] == {"2": 1.0}
    assert trials["uniform-01__s0-a1"]["seats"] == [f"seat {seat}" for seat in range(5)]
    assert trials["uniform-01__s0-a1"]["extra"]["label"] == "SUCCESS"


def test_scout_reads_its_own_columns(exports: Path) -> None:
    """Score, success, task, repeat and agent of each episode; a game's seats are spans with every call."""
    told = read_by("scout", exports / "scout")
    (game,) = [one for one in told.values() if one["task_id"] == "uniform-01"]
    contract = [one for one in told.values() if one["task_set"] == "parley-contract"]

    assert len(told) == 6
    assert {one["score"] for one in told.values()} == {"1.0"}
    assert {one["success"] for one in told.values()} == {True}
    assert sorted((one["task_id"], one["task_repeat"]) for one in contract) == [
        ("csrf-form-submit", 1), ("csrf-form-submit", 2), ("presigned-url-download", 1), ("presigned-url-download", 2),
    ]  # fmt: skip
    assert game["metadata"]["seed"] == 0
    assert game["spans"] == [f"seat {seat}" for seat in range(5)]
    assert game["calls"] > 50
    assert game["message_count"] == len(game["messages"]) > 100


def test_scout_reads_our_logs_of_inspect(exports: Path) -> None:
    """Success, task and repeat of each episode, with the talk."""
    told = read_by("scout", exports / "inspect")
    game = next(one for one in told.values() if one["task_id"] == "calendar/uniform-01/s0")

    assert len(told) == 6
    assert {one["success"] for one in told.values()} == {True}
    assert {one["task_repeat"] for one in told.values()} == {1, 2}
    assert len(game["messages"]) > 100


def test_scout_imports_our_trajectories(exports: Path) -> None:
    """By its ATIF importer each episode has its agent and talk; it has no way to fill score, success, task and repeat."""
    told = read_by("scout", exports / "harbor-job", "--atif")
    (game,) = [one for name, one in told.items() if "uniform-01" in name]

    assert len(told) == 6
    assert len(game["messages"]) > 50
    assert {one[column] for one in told.values() for column in ("score", "success", "task_id", "task_repeat")} == {None}
