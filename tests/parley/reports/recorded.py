"""Episodes of all three families, played by the real command line: by oracles, by wrong clients, and by a scripted model."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.paths import ROOT
from harness.registry import Task, read_task
from parley.reports.viewing import Library, Site
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Messages, Script, ScriptedReply

CONTRACT, CALENDAR, HIDDEN = "presigned-url-download", "uniform-01", "bakery-switch"
FORM = "csrf-form-submit"
ALL = (CONTRACT, CALENDAR, HIDDEN)
LINES: dict[str, tuple[str, ...]] = {
    "oracle": (*ALL, "--agent", "oracle"),
    "nop": (*ALL, "--agent", "nop"),
    "late": (CONTRACT, "--agent", "violation:late_token"),
    "replaced": (FORM, "--agent", "violation:replaced_token"),
    "many": (CONTRACT, "--agent", "violation:late_token", "--seeds", "0-13"),
    "apart": (CALENDAR, "--agent", "violation:apart"),
    "silent": (HIDDEN, "--agent", "violation:silent"),
    "deaf": (HIDDEN, "--agent", "violation:deaf"),
    "undecided": (HIDDEN, "--agent", "violation:undecided"),
    "model": (CONTRACT, "--model", "openai/any", "--interface", "tool"),
    "model-seats": (HIDDEN, "--model", "openai/any", "--set", "rounds=2", "--set", "track=structured"),
    "model-calendar": (CALENDAR, "--model", "openai/any", "--set", "turn_cap=1", "--set", "decision_retries=1"),
}


class Said(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


Commands = Callable[[Sequence[Sequence[str]]], list[Said]]


@pytest.fixture(scope="session")
def commands(harness: Callable[..., subprocess.CompletedProcess[str]]) -> Commands:
    """Runs command lines, one after the other, on a terminal of 80 columns."""

    def run(lines: Sequence[Sequence[str]]) -> list[Said]:
        done = [harness(*line, env={"COLUMNS": "80"}) for line in lines]
        return [Said(one.returncode, one.stdout, one.stderr) for one in done]

    return run


def voter(messages: Messages) -> ScriptedReply:
    """A model that votes for the decoy, and thinks aloud."""
    voting = "Vote" in messages[-1]["content"]
    text = '{"vote": "oven", "rationale": "it looks so"}' if voting else '{"text": "Backup.", "cites": [], "stance": "oven"}'
    return ScriptedReply(text=text, reasoning=f"thought {len(messages)}")


def scheduler(messages: Messages) -> ScriptedReply:
    """A model that asks for slot 3, and decides nothing."""
    talking = "Phase: CHEAP_TALK" in messages[-1]["content"]
    text = '{"actions": [{"type": "dm", "to": 2, "content": "Is slot 3 free?"}]}' if talking else '{"actions": []}'
    return ScriptedReply(text=text, reasoning="slot 3")


class Recorded(NamedTuple):
    """The folder that the runs lie in, and what each command said."""

    folder: Path
    said: dict[str, Said]

    def episode(self, run: str, task: str) -> Path:
        """The folder of the first attempt at a task at seed 0."""
        (folder,) = (self.folder / run / "episodes").glob(f"*/{task}/s0-a1")
        return folder

    @property
    def episodes(self) -> list[Path]:
        """Every folder of an episode."""
        return sorted(self.folder.glob("*/episodes/*/*/s*-a*"))


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> Recorded:
    """All runs of `LINES`, played once for all workers of a session."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "recorded"
    folder.mkdir(exist_ok=True)
    told = folder / "said.json"
    with (folder / "lock").open("w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        if not told.exists():
            told.write_text(json.dumps(_played(folder, commands)), encoding="utf-8")
    return Recorded(folder, {run: Said(*one) for run, one in json.loads(told.read_bytes()).items()})


def _played(folder: Path, commands: Commands) -> dict[str, Said]:
    task: Task = read_task(ROOT / "tasks" / "contract" / CONTRACT)
    scripts = (
        Script(match="scheduling assistant", play=scheduler),
        Script(match="people who have to decide", play=voter),
        Script(play=SolutionModel([task], lambda task, attempt: "late_token", "tool")),
    )
    with OpenAIServer(*scripts) as server:
        lines = [
            ["run", *words, "--runtime", "inprocess", "--out", str(folder / run), "--yes"]
            + (["--api-base", server.url] if "--model" in words else [])
            for run, words in LINES.items()
        ]
        said = dict(zip(LINES, commands(lines), strict=True))
    assert {run: one.err for run, one in said.items() if one.code} == {}
    return said


@pytest.fixture(scope="session")
def site(recorded: Recorded) -> Site:
    """The pages of all recorded runs."""
    return Site(Library([recorded.folder]))
