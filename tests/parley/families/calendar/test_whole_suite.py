"""The 90 with a model at every seat, killed and resumed: no game is lost, none is played twice, and every table comes out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.paths import ROOT
from parley.reports.evidence import read_runs
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from tests.harness.agents.test_personalities import PLAYS

TEAM = ("--team", "openai/careful,openai/talker,openai/vague,openai/stubborn,openai/truncated")


def command(*words: str | Path) -> list[str]:
    """The command line in a process of its own."""
    return [sys.executable, "-m", "harness", *map(str, words)]


def killed(words: Sequence[str], folder: Path, after: int) -> None:
    """Run until so many games are over, then kill the process without a word."""
    process = subprocess.Popen(words, cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": "k"}, stdout=subprocess.DEVNULL)
    try:
        while len(list(folder.glob("episodes/**/result.json"))) < after:
            assert process.poll() is None
            time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def ended(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    return subprocess.run(
        words, cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": "k"}, capture_output=True, text=True, check=False
    )


@pytest.mark.proof
def test_ninety_games_of_five_models_survive_two_kills(tmp_path: Path) -> None:
    """90 graded games, one each; what was over before a kill is not asked for again; every table and figure is written."""
    run = tmp_path / "run"
    with OpenAIServer(*(Script(model=name, play=play) for name, play in PLAYS.items())) as server:
        flags = ["--api-base", server.url, "--runtime", "inprocess", "-n", "8", "--set", "turn_cap=3", "-y", "--out", run]
        resumed = command("run", "--resume", run, "--api-base", server.url)
        killed(command("run", "uniform-[0-9][0-9]", "varied-[0-9][0-9]", *TEAM, *flags), run, 20)
        over = {path: path.read_bytes() for path in run.glob("episodes/**/result.json")}
        killed(resumed, run, 50)
        done = ended(resumed)
    results = [result for found in read_runs([run]) for result in found.results]

    assert done.returncode == 0, done.stderr
    assert len(results) == len({result.task_id for result in results}) == 90
    assert {result.status for result in results} == {"graded"}
    assert {path: path.read_bytes() for path in over} == over

    report = ended(command("report", run, "--table", "all", "--json", "--figures", tmp_path / "figures"))

    assert report.returncode == 0, report.stderr
    tables = {table["name"]: table for table in json.loads(report.stdout)["tables"]}
    assert sum(row["n"] for row in tables["seats"]["rows"] if row["group"]) >= 90 * 5
    assert list((tmp_path / "figures").glob("*.svg"))
