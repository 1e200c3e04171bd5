"""What a model says that has no UTF-8 form costs neither the run nor the provider anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request, Response

from harness.agent import AgentSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.episode import run_episode
from harness.outcome import Outcome
from harness.paths import ROOT
from harness.pod import EpisodeSpec, Pod
from harness.records import Result, RunFolder
from harness.registry import read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Script, ScriptedCall, ScriptedReply, script
from worlds.core.replies import replace_surrogates

GAME = ROOT / "tasks" / "hidden-profile" / "evacuation-noon"
ALONE = ROOT / "tasks" / "contract" / "presigned-url-download"
HALF = "HALF"
"""What a script says for half a surrogate pair, which it cannot hold itself."""

TOLD = "not run: the arguments hold half a surrogate pair, which has no UTF-8 form"


class Halving(OpenAIServer):
    """Sends half a surrogate pair wherever a script says HALF."""

    async def _complete(self, request: Request) -> Response:
        whole = await super()._complete(request)
        return Response(bytes(whole.body).replace(HALF.encode(), rb"\ud83d"), whole.status_code, media_type="application/json")


def played(folder: Path, task: Path, *scripts: Script, **how: Any) -> tuple[Result, dict[str, Any], str]:
    """One episode: its result, its trajectory, and all that the provider was sent."""
    with Halving(*scripts) as server:
        spec = AgentSpec(kind="llm", model="openai/half", api_base=server.url, **how)
        config = replace(LlmConfig.of(spec), api_key="k", patience_s=2.0, first_pause_s=0.01)
        agent = SeatAgent(spec, config=config, say=lambda line: None)
        overrides = {"rounds": "1"} if task == GAME else {}
        plan = Plan(folder.name, [read_task(task)], [0], 1, overrides=overrides)
        cast, quiet = AgentPool(lambda *_: agent), lambda event: None
        (result,) = run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=quiet, cast=cast)
    trajectory = json.loads((Path(result.path) / "trajectory.json").read_bytes())
    return result, trajectory, json.dumps([r.body for r in server.requests], ensure_ascii=False)


@pytest.mark.property
@pytest.mark.parametrize("usage", ["counted", "none"])
def test_game_of_halves_is_graded(tmp_path: Path, usage: Any) -> None:
    """A seat that says half a pair has said U+FFFD: to the world, to its own conversation, and in the record."""
    said = ScriptedReply(text=f"hello {HALF}", reasoning=HALF, usage=usage)
    result, trajectory, sent = played(tmp_path / "run", GAME, Script(play=lambda messages: said))
    spoken = [step for seat in trajectory["subagent_trajectories"] for step in seat["steps"] if step["source"] == "agent"]

    assert (result.status, result.cause) == ("graded", None)
    assert {(step["message"], step["reasoning_content"]) for step in spoken} == {("hello \ufffd", "\ufffd")}
    assert replace_surrogates(sent) == sent


@pytest.mark.parametrize("written", [HALF, r"\ud83d"], ids=["as it is", "escaped"])
@pytest.mark.parametrize("usage", ["counted", "none"])
def test_tool_calls_of_halves_are_graded(tmp_path: Path, written: str, usage: Any) -> None:
    """A tool call that holds half a pair, however deep, is the model's mistake, told to it and kept with U+FFFD."""
    arguments = f'{{"method": "GET", "url": "/", "headers": [["x-a", "{written}"]], "body": "{written}"}}'
    calls = (
        ScriptedCall(name="http_request", arguments=arguments, id=HALF),
        ScriptedCall(name=HALF),
        ScriptedCall(name="run", arguments=f"{{{HALF}"),
    )
    first = ScriptedReply(text=HALF, reasoning=HALF, tool_calls=calls, usage=usage)
    result, trajectory, sent = played(tmp_path / "run", ALONE, script(first, HALF), interface="tool")
    step = trajectory["steps"][2]

    assert (result.status, result.cause, result.tokens.calls) == ("graded", None, 2)
    assert (step["message"], step["reasoning_content"]) == ("\ufffd", "\ufffd")
    assert step["tool_calls"][0]["arguments"] == {
        "method": "GET", "url": "/", "headers": [["x-a", "\ufffd"]], "body": "\ufffd",
    }  # fmt: skip
    assert step["observation"]["results"][0]["content"] == TOLD
    assert replace_surrogates(sent) == sent


@pytest.mark.parametrize("tool", [f'"{HALF}"', r'"\ud83d"', r'"http_request", "arguments": "\ud83d"'])
def test_blocks_of_halves_are_graded(tmp_path: Path, tool: str) -> None:
    """Half a character in a block of plain text is graded too, for models without tool calls."""
    block = f'```json\n{{"tool": {tool}}}\n```'
    result, _, sent = played(tmp_path / "run", ALONE, script(block, HALF), interface="tool", protocol="text")

    assert (result.status, result.cause, result.tokens.calls) == ("graded", None, 2)
    assert replace_surrogates(sent) == sent


@pytest.mark.property
@pytest.mark.parametrize("protocol", ["tools", "text"])
@pytest.mark.parametrize("depth", [100, 450, 900])
def test_deep_arguments_are_graded(tmp_path: Path, depth: int, protocol: str) -> None:
    """Brackets in brackets, as many as the interpreter can just follow, are a mistake like any other."""
    arguments = f'{{"method": {"[" * depth}{"]" * depth}}}'
    call = ScriptedReply(tool_calls=(ScriptedCall(name="http_request", arguments=arguments),))
    block = f'```json\n{{"tool": "http_request", "arguments": {arguments}}}\n```'
    said = script(call if protocol == "tools" else block)
    result, _, _ = played(tmp_path / "run", ALONE, said, interface="tool", protocol=protocol)

    assert (result.status, result.cause, result.tokens.calls) == ("graded", None, 2)


def test_refusal_of_halves_is_recorded(tmp_path: Path) -> None:
    """A provider that refuses in such words ends its episode, not the run."""
    refused = ScriptedReply(faults=(Fault(status=400, message=f"no {HALF}"),))
    result, _, _ = played(tmp_path / "run", ALONE, script(refused), interface="tool")

    assert (result.status, result.cause) == ("ungraded", "provider")
    assert "no \ufffd" in str(result.error)


def test_record_is_written_whatever_an_agent_left(tmp_path: Path) -> None:
    """An agent whose trajectory and log hold half a pair has an episode all the same."""

    class Careless(LlmAgent):
        def play(self, task: Any, seed: int, pod: Pod, budget: Any, report: Any, attempt: int = 1) -> None:
            report.trajectory, report.log[:] = {"said": "\ud83d"}, ["\ud83d"]

    plan, agent = Plan("run", [read_task(ALONE)], [0], 1), Careless(LlmConfig("openai/half", interface="tool"))
    (key,) = plan.keys
    spec = EpisodeSpec("run", "episode", plan.tasks[0], 0)
    outcome: Outcome = run_episode(spec, key, InProcessRuntime(), agent, plan.budget)

    assert json.loads(outcome.files["trajectory.json"])["said"] == outcome.files["agent.log"].decode() == "?"
