"""Four models of different character hold sessions through the real LiteLLM: every variant, any order, killed and resumed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.paths import ROOT
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script
from worlds.core.events import Turned, read_log
from worlds.hidden_profile.options import VARIANTS

pytestmark = pytest.mark.property
NAME = "evacuation-noon"
PEOPLE, ROUNDS = 4, 15
Messages = Sequence[dict[str, Any]]


@pytest.fixture(scope="module")
def task() -> Task:
    """One scenario of four people."""
    return read_task(ROOT / "tasks" / "hidden-profile" / NAME)


def options(text: str) -> list[str]:
    """The options that a text shows, in its order."""
    return re.findall(r"^- \[(\w+)\] ", text, re.MULTILINE)


def discloser(rules: str, asked: str) -> str:
    """Tells every point that it has, and votes for the option with the shortest id."""
    points = re.findall(r"^- (?!\[)(.+)$", rules, re.MULTILINE)
    return ballot(min(options(asked), key=len)) if "Vote" in asked else " ".join(points)


def conformist(rules: str, asked: str) -> str:
    """Says that it agrees with the one before, and votes for what was named most in what it last read."""
    heard = re.findall(r"I am for (\w+)", asked)
    if "Vote" in asked:
        return ballot(Counter(heard).most_common(1)[0][0] if heard else options(asked)[0])
    return f"I am for {heard[-1]} too." if heard else "I go with the rest."


def stubborn(rules: str, asked: str) -> str:
    """Stays with the option that its rules show first, whatever is said."""
    first = options(rules)[0]
    return ballot(first) if "Vote" in asked else f"I am for {first}."


def careless(rules: str, asked: str) -> str:
    """Votes for something that is no option until it is asked again, and talks about the weather."""
    if "Vote" in asked:
        return "All of them, I should say."
    return "Hm, is it going to rain?" if "Round" in asked else ballot(options(rules)[-1])


def ballot(option: str) -> str:
    """A vote as it is asked for."""
    return json.dumps({"vote": option, "rationale": "It seems right."})


CHARACTERS = (discloser, conformist, stubborn, careless)


def play(messages: Messages) -> str:
    """The character whose seat the rules name, answering after a moment of its own."""
    time.sleep(random.uniform(0, 0.002))
    rules = messages[0]["content"]
    person = int(re.search(r"You are Person (\d+)", rules)[1])  # type: ignore[index]
    return CHARACTERS[person - 1](rules, messages[-1]["content"])


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server whose model has another character at each seat."""
    with OpenAIServer(Script(match="You are Person", play=play)) as running:
        yield running


def sessions(
    folder: Path, task: Task, server: OpenAIServer, *, seeds: int = 1, workers: int = 1, **options: object
) -> list[Result]:
    """Sessions of a task, held by the server's models."""
    spec = AgentSpec(kind="llm", model="openai/four", api_base=server.url)
    config = replace(LlmConfig.of(spec), api_key="k", first_pause_s=0.01)
    overrides = {name: str(value) for name, value in options.items()}
    agent = SeatAgent(spec, config=config, say=lambda line: None)
    plan = Plan(folder.name, [task], range(seeds), 1, overrides=overrides)
    cast, quiet = AgentPool(lambda *_: agent), lambda event: None
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=workers, images={}, progress=quiet, cast=cast)


def records(results: Sequence[Result]) -> list[tuple[object, ...]]:
    """All that a session leaves which must not depend on who was fast: log, verdict, reward, what was answered."""
    files = ("verdict.json", "events.jsonl")
    return [
        (one.task_id, one.seed, one.trace_hash, one.reward, one.tokens.calls, *(_read(one, name) for name in files))
        for one in results
    ]


def _read(result: Result, name: str) -> bytes:
    return (Path(result.path) / name).read_bytes()


def test_a_session_takes_the_calls_that_the_rules_say(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """N votes, N x T turns and N votes again, 68 in all, and one more for each vote that had to be asked again (spec 1.2)."""
    (result,) = sessions(tmp_path, task, server, rounds=ROUNDS)
    turns = [one for one in read_log((Path(result.path) / "events.jsonl").read_bytes()) if isinstance(one, Turned)]
    again = [turn for turn in turns if turn.attempt == 2]

    assert PEOPLE * (ROUNDS + 2) == 68
    assert Counter(turn.phase for turn in turns if turn.attempt == 1) == {"PRE_VOTE": 4, "DISCUSSION": 60, "POST_VOTE": 4}
    assert [(turn.seat, turn.phase) for turn in again] == [(3, "PRE_VOTE"), (3, "POST_VOTE")]
    assert len(server.requests) == result.tokens.calls == 68 + len(again)
    assert result.status == "graded"


@pytest.mark.parametrize("condition", ["hidden", "full"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_worker_and_sixteen_leave_the_same_records(
    variant: str, condition: str, tmp_path: Path, task: Task, server: OpenAIServer
) -> None:
    """In both conditions and every variant three seeds give identical logs, verdicts and counts."""
    chosen = {"variant": variant, "condition": condition, "rounds": 1}
    one = sessions(tmp_path / "one", task, server, seeds=3, workers=1, **chosen)
    many = sessions(tmp_path / "many", task, server, seeds=3, workers=16, **chosen)

    assert records(one) == records(many)
    assert {result.status for result in one} == {"graded"}
    assert len({result.trace_hash for result in one}) == 3


def test_killed_run_loses_and_repeats_nothing(tmp_path: Path, task: Task, server: OpenAIServer) -> None:
    """A run that is killed outright and resumed has the records of one that was not; what was finished is not asked again."""
    whole = sessions(tmp_path / "whole", task, server, seeds=12, rounds=2)
    folder, asked = tmp_path / "killed", len(server.requests)
    command = [sys.executable, "-m", "harness", "run", NAME, "--model", "openai/four", "--api-base", server.url]
    command += ["--runtime", "inprocess", "--seeds", "0-11", "--set", "rounds=2", "--workers", "2", "--yes"]
    environment = {**os.environ, "OPENAI_API_KEY": "k"}
    started = subprocess.Popen([*command, "--out", str(folder)], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    while len(list(folder.glob("episodes/*/*/s*/result.json"))) < 3:
        assert started.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    finished = {path: path.read_bytes() for path in folder.glob("episodes/*/*/s*/result.json")}
    before = len(server.requests)
    subprocess.run([*command, "--resume", str(folder)], cwd=ROOT, env=environment, check=True, capture_output=True)
    logs = {path.parent.name: path.read_bytes() for path in folder.rglob("events.jsonl")}

    assert 3 <= len(finished) < 12
    assert {path: path.read_bytes() for path in finished} == finished
    assert logs == {Path(one.path).name: (Path(one.path) / "events.jsonl").read_bytes() for one in whole}
    assert len(server.requests) - before == (12 - len(finished)) * whole[0].tokens.calls
    assert before > asked
