"""All tasks at three seeds, killed twenty times at random moments and gone on with each time, end like a quiet run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.pod import Runtime

pytestmark = pytest.mark.proof

Command = Callable[..., subprocess.CompletedProcess[str]]
MOST_EPISODES, LONGEST_S = 24, 0.5
"""Between two kills: so many episodes at most, and then a moment."""

CASES = [
    pytest.param(("presigned-url-download", "api-key-rotation"), 10, 3, id="two-tasks"),
    pytest.param((), 3, 20, id="all-tasks"),
]


@pytest.mark.parametrize(("names", "seeds", "kills"), CASES)
def test_killed_at_random_moments(
    names: Sequence[str], seeds: int, kills: int, runtime: Runtime, traces: Any, run_id: str, harness: Command, tmp_path: Path
) -> None:
    """Nothing is lost, nothing is graded twice, nothing is left, and the traces are those of a run in process."""
    folder, quiet = tmp_path / run_id, tmp_path / "quiet"
    what = ["run", *names, "--yes", "--agent", "oracle", "--seeds", f"0-{seeds - 1}"]
    first = [*what, "--runtime", runtime.name, "--out", str(folder)]
    assert harness(*what, "--runtime", "inprocess", "--out", quiet).returncode == 0
    expected = graded(quiet)
    chance = random.Random(len(expected))
    most = max(1, min(MOST_EPISODES, len(expected) // (2 * kills)))
    killed, before = 0, {}
    while killed < kills:
        killed += kill_after(first if not (folder / "run.json").exists() else resumed(folder), chance, most)
        now = kept(folder)
        assert {path: now.get(path) for path in before} == before
        before = now
        if len(before) == len(expected):
            break
    last = subprocess.run([*HARNESS, *resumed(folder)], capture_output=True, text=True, check=False)
    runtime.sweep()

    assert last.returncode == 0, last.stderr
    assert killed == kills
    assert graded(folder) == expected
    assert {path: kept(folder).get(path) for path in before} == before
    assert len((folder / "rewards.jsonl").read_text(encoding="utf-8").splitlines()) == len(expected)
    assert [path for path in folder.rglob("*") if path.name.startswith(".") or path.name == "attempts"] == []
    assert traces.left() == {}


HARNESS = (sys.executable, "-m", "harness")


def resumed(folder: Path) -> list[str]:
    """What is typed to go on."""
    return ["run", "--resume", str(folder)]


def kill_after(arguments: Sequence[str], chance: random.Random, most: int) -> int:
    """Let a run finish some episodes, or none, and a moment pass, and kill it; 1, or 0 where it had ended by itself."""
    episodes, moment = chance.randint(0, most), chance.uniform(0, LONGEST_S)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    with subprocess.Popen([*HARNESS, *arguments, "--jsonl", "-"], text=True, start_new_session=True, **pipes) as run:
        assert run.stdout is not None
        done = -1
        while done < episodes and (line := run.stdout.readline()):
            done += json.loads(line)["event"] in ("begun", "finished")
        time.sleep(moment)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
        run.stdout.read()
    return int(run.returncode == -signal.SIGKILL)


def graded(folder: Path) -> dict[str, tuple[str, float]]:
    """Trace hash and reward of every episode with a grade."""
    told = [json.loads(path.read_bytes()) for path in folder.glob("episodes/*/*/s*/result.json")]
    return {
        f"{one['task_id']}-s{one['seed']}-a{one['attempt']}": (one["trace_hash"], one["reward"])
        for one in told
        if one["status"] == "graded"
    }


def kept(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """The results that stand, with their times."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.glob("episodes/*/*/s*/result.json")}
