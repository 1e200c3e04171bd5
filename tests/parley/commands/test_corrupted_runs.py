"""Whatever a run from elsewhere holds, every command that reads runs ends soon, small, and in words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from harness.paths import ROOT
from tests.conftest import Command
from tests.forked import WaitingHarness
from tests.harness.corruptions import CORRUPTIONS
from tests.measured import measured

TASKS = ("presigned-url-download", "uniform-01", "bakery-switch")
MOST_S, MOST_MB = 10, 500


@pytest.fixture(scope="module")
def run(harness: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good run: an episode of each family, and a violation of its contract."""
    out = tmp_path_factory.mktemp("good") / "run"
    assert harness("run", *TASKS, "--agent", "oracle", "--runtime", "inprocess", "--out", out).returncode == 0
    return out


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WaitingHarness]:
    """Commands in copies of a warm process."""
    one = WaitingHarness(ROOT, environ(), tmp_path_factory.mktemp("said"))
    yield one
    one.close()


def environ() -> dict[str, str]:
    """This process's environment without what is a variable of this host for settings or keys."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_") and not k.endswith("_API_KEY")}


def episode(run: Path, task: str) -> Path:
    """The folder of a task's one episode, which may lie in a pack."""
    family = {"presigned-url-download": "contract", "uniform-01": "calendar", "bakery-switch": "hidden-profile"}[task]
    return run / "episodes" / family / task / "s0-a1"


COMMANDS: dict[str, Callable[[Path, Path, Path], list[str | Path]]] = {
    "runs": lambda run, good, out: ["runs", run],
    "report": lambda run, good, out: ["report", run],
    "report-json": lambda run, good, out: ["report", run, "--json"],
    "show": lambda run, good, out: ["show", run],
    "show-contract": lambda run, good, out: ["show", episode(run, TASKS[0]), "--full"],
    "show-calendar": lambda run, good, out: ["show", episode(run, TASKS[1]), "--json"],
    "show-hidden": lambda run, good, out: ["show", episode(run, TASKS[2])],
    "view": lambda run, good, out: ["view", run, "--bundle", out],
    "episodes": lambda run, good, out: ["export", "episodes", run],
    "trace": lambda run, good, out: ["export", "trace", run, "--out", out],
    "inspect": lambda run, good, out: ["export", "inspect", run, "--out", out],
    "harbor-job": lambda run, good, out: ["export", "harbor-job", run, "--out", out],
    "scout": lambda run, good, out: ["export", "scout", run, "--out", out],
    "compare": lambda run, good, out: ["compare", run, good],
    "leaderboard": lambda run, good, out: ["leaderboard", run, good],
    "pack": lambda run, good, out: ["pack", run, "--out", f"{out}.run.parquet"],
    "unpack": lambda run, good, out: ["unpack", run, "--out", out],
    "merge": lambda run, good, out: ["merge", out, run, good],
    "resume": lambda run, good, out: ["run", "--resume", run],
    "replay": lambda run, good, out: ["run", TASKS[1], "--agent", f"replay:{run}", "--runtime", "inprocess", "--out", out],
    "vps": lambda run, good, out: ["audit", "vps", run],
    "messages": lambda run, good, out: ["audit", "messages", run],
    "disclosure": lambda run, good, out: ["audit", "disclosure", run],
    "privacy": lambda run, good, out: ["audit", "privacy", run],
}


SHARES = 8


def faults(corruption: str, names: Collection[str], run: Path, waiting: WaitingHarness, folder: Path) -> list[str]:
    """The commands that do not end as they must, with what they said."""
    found = []
    for name in names:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        spoiled = CORRUPTIONS[corruption](run, folder / "spoiled")
        words = [*map(str, COMMANDS[name](spoiled, run, folder / "out"))]
        done = waiting.measured(words, environ(), 6 * MOST_S)
        if done.megabytes > MOST_MB:
            # a copy has all that the process it is of had imported
            shutil.rmtree(folder / "out", ignore_errors=True)
            (folder / "out.run.parquet").unlink(missing_ok=True)
            done = done._replace(megabytes=measured(words, folder, environ()).megabytes)
        in_words = done.code in {0, 1, 2, 3, 4} and not any(word in done.said for word in ("Traceback", "\x1b]0"))
        if not in_words or done.megabytes > MOST_MB or done.seconds > MOST_S:
            found.append(f"{name}: exit {done.code}, {done.seconds:.1f} s, {done.megabytes:.0f} MB: {done.said[-400:]}")
    return found


@pytest.mark.property
@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_commands_end_in_words(corruption: str, run: Path, waiting: WaitingHarness, tmp_path: Path) -> None:
    """An eighth of the commands for each corruption: right or refused, in ten seconds and 500 MB, without a traceback."""
    share = list(CORRUPTIONS).index(corruption) % SHARES
    assert faults(corruption, list(COMMANDS)[share::SHARES], run, waiting, tmp_path) == []


@pytest.mark.proof
@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_every_command_ends_in_words(corruption: str, run: Path, waiting: WaitingHarness, tmp_path: Path) -> None:
    """All commands for each of them."""
    assert faults(corruption, COMMANDS, run, waiting, tmp_path) == []
