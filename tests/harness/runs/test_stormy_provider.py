"""A provider on a bad day: crowded minutes, errors, silences, resets and half answers. No episode is lost to it.

Every request meets the weather, whichever episode it is of, through the real LiteLLM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool
from harness.agents.llm import model
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.errors import ProviderLost
from harness.live_agent import Agent
from harness.paths import ROOT
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel, heading
from parley.testing.scripts import Fault, Messages, Script, ScriptedReply

SHORT = {"calendar": {"turn_cap": "1"}, "hidden-profile": {"rounds": "1"}, "contract": {}}
"""What makes games short, by family."""

LIMITED = '{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}'


def storm(window_s: float, calm_s: float) -> Callable[[int, float], Fault | None]:
    """Windows in which everything is too much, and between them one request of six that meets something else."""
    others = {
        0: Fault(status=500, body='{"error":{"message":"The server had an error","type":"server_error","code":null}}'),
        6: Fault(kind="reset"),
        12: Fault(kind="truncated"),
        18: Fault(status=529, body='{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
        24: Fault(kind="garbage"),
        30: Fault(kind="stall", stall_s=2.5),
        36: Fault(status=502, body="<html><h1>502 Bad Gateway</h1></html>", media_type="text/html"),
    }

    def weather(number: int, seconds: float) -> Fault | None:
        into = seconds % (window_s + calm_s)
        if into > calm_s:
            return Fault(status=429, body=LIMITED, retry_after=f"{window_s + calm_s - into:.2f}")
        return others.get(number % 42)

    return weather


def speaker(tasks: Sequence[Task]) -> Script:
    """A model that plays the solutions of contract tasks, and says nothing of use at seats."""
    solver = SolutionModel([task for task in tasks if not task.is_seated], lambda task, attempt: "solve", "tool")
    known = {heading((task.path / "instruction.md").read_text(encoding="utf-8")) for task in tasks if not task.is_seated}

    def play(messages: Messages) -> ScriptedReply | str:
        first = next((str(message["content"]) for message in messages if message["role"] == "user"), "")
        return solver(messages) if heading(first) in known else "I have nothing to say."

    return Script(play=play)


def played(
    folder: Path, tasks: Sequence[Task], server: OpenAIServer, options: dict[str, str], timeout_s: float = 2.0
) -> list[Result]:
    """One episode of each task, eight at a time."""
    spec = AgentSpec(kind="llm", model="openai/x", interface="tool", api_base=server.url)

    def make(spec: AgentSpec, *_: object) -> Agent:
        config = replace(LlmConfig.of(spec), api_key="k", timeout_s=timeout_s, patience_s=120.0, first_pause_s=0.1)
        return SeatAgent(spec, config=config, say=lambda line: None)

    plan, quiet = Plan("run", tasks, [0], 1, spec, overrides=options), lambda event: None
    return run_plan(
        plan, InProcessRuntime(), RunFolder(folder), workers=8, images={}, progress=quiet, cast=AgentPool(make), breaker=5
    )


def checked(results: Sequence[Result], tasks: Sequence[Task], server: OpenAIServer) -> None:
    """Everything was played and graded, what could be solved was, and the weather was really bad."""
    assert {(result.status, result.cause, result.stopped_by) for result in results} == {("graded", None, None)}
    assert len(results) == len(tasks)
    assert all(result.success for result in results if result.family == "contract")
    answered = sum(result.tokens.calls for result in results)
    assert len(server.requests) > answered * 1.1


@pytest.mark.property
def test_no_episode_is_lost(tmp_path: Path) -> None:
    """A few tasks of each family, against windows of a second."""
    for family, options in SHORT.items():
        tasks = [read_task(path) for path in sorted((ROOT / "tasks" / family).iterdir())[: 4 if family == "contract" else 1]]
        with OpenAIServer(speaker(tasks), weather=storm(1.0, 1.0)) as server:
            checked(played(tmp_path / family, tasks, server, options), tasks, server)


@pytest.mark.proof
@pytest.mark.parametrize("family", SHORT)
def test_no_episode_of_any_task_is_lost(tmp_path: Path, family: str) -> None:
    """All tasks, against windows of six seconds, a tenth of a real one."""
    tasks = [read_task(path) for path in sorted((ROOT / "tasks" / family).iterdir())]
    with OpenAIServer(speaker(tasks), weather=storm(6.0, 6.0)) as server:
        checked(played(tmp_path / family, tasks, server, SHORT[family]), tasks, server)


def broken_after(count: int, fault: Fault) -> Callable[[int, float], Fault | None]:
    """A provider that answers so many requests, and then no more."""
    return lambda number, seconds: fault if number >= count else None


@pytest.mark.property
def test_failures_in_a_row_end_the_run(tmp_path: Path) -> None:
    """Three episodes that fail by their provider, one after the other: the rest is left unplayed, and can be played later."""
    task = read_task(ROOT / "tasks/contract/presigned-url-download")
    refused = Fault(status=400, body='{"error":{"message":"no","type":"x","code":null}}')
    spec = AgentSpec(kind="llm", model="openai/x", interface="tool")
    with OpenAIServer(speaker([task]), weather=broken_after(12, refused)) as server:
        config = LlmConfig("openai/x", interface="tool", api_base=server.url, api_key="k")
        cast = AgentPool(lambda spec, *_: SeatAgent(spec, config=config, say=lambda line: None))
        plan, heard = Plan("run", [task], list(range(9)), 1, spec), list[object]()
        run = partial(run_plan, plan, InProcessRuntime(), RunFolder(tmp_path), workers=1, images={}, cast=cast)
        with pytest.raises(ProviderLost, match=r"^3 episodes in a row failed because of the provider, .*; the last one: .+"):
            run(progress=heard.append, breaker=3)
        lost = list(RunFolder(tmp_path).results())
        server.weather = None
        results = run(progress=heard.append, breaker=3)

    assert [result.cause for result in lost if result.status == "ungraded"] == ["provider"] * 3
    assert len(lost) < 9
    assert [(result.status, result.success) for result in results] == [("graded", True)] * 9


@pytest.mark.property
def test_set_up_faults_in_a_row_end_the_run(tmp_path: Path) -> None:
    """A server that returns tool calls as text would spoil every episode, so the run ends after as many as the breaker says."""
    task, spec = (
        read_task(ROOT / "tasks/contract/presigned-url-download"),
        AgentSpec(kind="llm", model="openai/x", interface="tool"),
    )
    written = '<tool_call>{"name": "wait", "arguments": {"seconds": 1}}</tool_call>'
    with OpenAIServer(Script(play=lambda messages: written)) as server:
        config = LlmConfig("openai/x", interface="tool", api_base=server.url, api_key="k")
        cast = AgentPool(lambda spec, *_: SeatAgent(spec, config=config, say=lambda line: None))
        plan = Plan("run", [task], list(range(9)), 1, spec)
        with pytest.raises(ProviderLost, match=r"^3 episodes in a row failed because of the set-up, "):
            run_plan(
                plan, InProcessRuntime(), RunFolder(tmp_path), workers=1, images={}, progress=lambda event: None, cast=cast,
                breaker=3,
            )  # fmt: skip

    assert {(result.status, result.cause) for result in RunFolder(tmp_path).results()} == {("ungraded", "setup")}


def test_a_bug_of_our_client_is_no_models_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The episode is ungraded and blamed on the harness, with the place."""

    def buggy(*_: object) -> None:
        raise TypeError("a bug")

    monkeypatch.setattr(model, "ask", buggy)
    task = read_task(ROOT / "tasks/contract/presigned-url-download")
    with OpenAIServer(speaker([task])) as server:
        (result,) = played(tmp_path, [task], server, {})

    assert (result.status, result.cause) == ("ungraded", "runtime")
    assert str(result.error).startswith("our model client failed at test_stormy_provider.py:")
