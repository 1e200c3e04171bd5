"""What an episode writes is bounded, and what a run takes is shown."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from harness.agent import Budget, Report
from harness.episode import run_episode
from harness.live_agent import Agent
from harness.outcome import LONGEST_TEXT
from harness.pod import EpisodeSpec, Pod
from harness.records import Key
from harness.registry import Task
from harness.runtimes.inprocess import InProcessRuntime

Command = Callable[..., subprocess.CompletedProcess[str]]


class LongWinded(Agent):
    """Reports a text of twenty megabytes."""

    name = "long-winded"
    only_computes = True

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Say it, in the trajectory and in the log."""
        text = "first words" + "x" * (20 << 20) + "last words"
        report.trajectory = {"steps": [{"message": text}, {"message": "short"}]}
        report.log.append(text)


def test_a_reply_of_twenty_megabytes_is_kept_by_its_ends(presigned: Task) -> None:
    """A text keeps its first and last words, and says exactly how much it lacks."""
    key = Key(task_id=presigned.task_id, family="contract", seed=0, attempt=1)
    outcome = run_episode(EpisodeSpec("run", "e", presigned, 0), key, InProcessRuntime(), LongWinded(), Budget())
    long, short = (step["message"] for step in json.loads(outcome.files["trajectory.json"])["steps"])

    assert outcome.result.status == "graded"
    assert (long[:11], long[-10:], short) == ("first words", "last words", "short")
    assert f"\n[{(20 << 20) + 21 - LONGEST_TEXT} characters left out]\n" in long
    assert max(len(outcome.files[name]) for name in ("trajectory.json", "agent.log")) < LONGEST_TEXT + 2000


def test_the_size_of_a_run_is_shown(harness: Command, tmp_path: Path) -> None:
    """The closing line and the list of runs say what its files take together."""
    run = ("run", "presigned-url-download", "--agent", "nop", "--runtime", "inprocess", "--out", tmp_path / "run")
    done = harness(*run)
    (listed,) = json.loads(harness("runs", tmp_path, "--json").stdout)
    taken = sum(path.stat().st_size for path in (tmp_path / "run").rglob("*") if path.is_file())

    assert listed["bytes"] == taken
    assert f"run in {tmp_path / 'run'} ({taken / 1000:.3g} kB)" in done.stderr
