"""A runner that its agent took over says whatever it likes: the episode is graded all the same, and its record reads back.

The real agent plays by a model of the local server; what its pod's commands give is what `commands.result` makes of the answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.agent import Budget
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.agents.llm.interface import SHOWN, shown_output
from harness.episode import run_episode
from harness.outcome import record
from harness.pod import OUTPUT_CAP, CommandResult, EpisodeSpec
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runtimes import commands
from harness.runtimes.inprocess import InProcessPod, InProcessRuntime
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, ScriptedCall, ScriptedReply, call, script

FORGED = b'{"code": 0, "omitted": ' + b"9" * 4300 + b', "size": 40000}\n' + b"x" * 40_000
"""The answer that once left an episode ungraded."""

numbers = st.one_of(
    st.integers(),
    st.integers(min_value=10**300, max_value=10**310),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from([0, 1, -1, 255, 256, OUTPUT_CAP, OUTPUT_CAP + 1, 1 << 53, (1 << 53) + 1, 10**4299]),
    st.sampled_from(["1", "9" * 5000, [], {}, [[]]]),
)
heads = st.fixed_dictionaries({}, optional={"code": numbers, "omitted": numbers, "size": numbers, "error": st.text()})
bombs = st.sampled_from(
    [
        b"[" * 50_000,
        b'{"code":' * 5000,
        b'{"code": 1e999, "omitted": NaN, "size": -0}',
        b'{"code": 0, "omitted": ' + b"9" * 60_000,
    ]
)
answers = st.one_of(
    st.binary(max_size=2000),
    st.builds(lambda head, body: json.dumps(head).encode() + b"\n" + body, heads, st.binary(max_size=2000)),
    st.builds(lambda bomb, body: bomb + b"\n" + body, bombs, st.binary(max_size=100)),
    st.builds(
        lambda code, omitted, size, body: b'{"code": %d, "omitted": %d, "size": %d}\n' % (code, omitted, size) + body * 300,
        st.integers(-1, 256), st.integers(-1, (1 << 53) + 1), st.integers(-1, OUTPUT_CAP + 1), st.binary(max_size=300),
    ),
)  # fmt: skip
"""Arbitrary bytes, heads that are nearly right with every kind of number, bodies too short and too long."""


def check_answer(answer: bytes) -> None:
    """No answer raises, here or where a model is told of it; what is believed is within bounds."""
    done = commands.result(answer[: commands.ANSWER_CAP])
    if done is None:
        return
    told = shown_output(done, 60)

    assert done.code is None or (type(done.code) is int and 0 <= done.code <= 255)
    assert (type(done.omitted), 0 <= done.omitted <= 1 << 53) == (int, True)
    assert len(done.output) <= OUTPUT_CAP
    assert len(told.encode()) <= 4 * SHOWN


@pytest.mark.property
@given(answers)
@settings(max_examples=300)
def test_any_answer(answer: bytes) -> None:
    """A few hundred of them."""
    check_answer(answer)


@pytest.mark.proof
@given(answers)
@settings(max_examples=20_000)
def test_any_answer_at_length(answer: bytes) -> None:
    """And many more."""
    check_answer(answer)


class TakenOver(InProcessPod):
    """A pod whose runner is the agent's."""

    has_main = True
    answer = b""

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """As the pods of both sandboxes do it."""
        return commands.result(self.answer[: commands.ANSWER_CAP]) or CommandResult(commands.KILLED, b"")


class Sandboxes(InProcessRuntime):
    """Opens such pods."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def open(self, spec: EpisodeSpec) -> Any:
        """One pod."""
        pod = TakenOver(spec)
        pod.answer = self.answer
        return _Opened(pod)


class _Opened:
    def __init__(self, pod: TakenOver) -> None:
        self.pod = pod

    def __enter__(self) -> TakenOver:
        return self.pod

    def __exit__(self, *_: object) -> None:
        pass


def graded(folder: Path, task: Task, url: str, answer: bytes = b"", **how: Any) -> Result:
    """One episode, whose record is read back; it counts, and nobody but the agent is blamed."""
    config = LlmConfig("openai/x", api_base=url, api_key="k", patience_s=1.0, first_pause_s=0.01, **how)
    spec = EpisodeSpec("run", "e", task, 0)
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    run = RunFolder(folder)
    agent = LlmAgent(config, say=lambda line: None)
    written = record(run_episode(spec, key, Sandboxes(answer), agent, Budget(turns=4)), run)

    assert run.finished(key) == written
    assert (written.status, written.reward, written.cause in {None, "agent"}) == ("graded", 0.0, True), written.error
    json.loads((Path(written.path) / "trajectory.json").read_bytes(), parse_constant=pytest.fail)
    return written


@pytest.fixture(autouse=True)
def _loop() -> Iterator[None]:
    """An event loop for this thread: LiteLLM asks for one where it plays in the main thread, and would leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="module")
def server() -> Any:
    """A model that runs one command and goes."""
    with OpenAIServer(script(call("run", command="true"), "done")) as running:
        yield running


@pytest.mark.property
def test_forged_answer(tmp_path: Path, presigned: Task, server: OpenAIServer) -> None:
    """The count of four thousand digits is no answer, so the command was killed."""
    assert commands.result(FORGED) is None
    assert graded(tmp_path, presigned, server.url, FORGED).cause is None


@pytest.mark.property
@given(answers)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_answer_is_graded(
    tmp_path_factory: pytest.TempPathFactory, presigned: Task, server: OpenAIServer, answer: bytes
) -> None:
    """Through a whole episode of a real agent, its verdict and its record."""
    assert graded(tmp_path_factory.mktemp("run"), presigned, server.url, answer).status == "graded"


@pytest.mark.proof
@given(answers)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_answer_is_graded_at_length(
    tmp_path_factory: pytest.TempPathFactory, presigned: Task, server: OpenAIServer, answer: bytes
) -> None:
    """And many more."""
    assert graded(tmp_path_factory.mktemp("run"), presigned, server.url, answer).status == "graded"


ARGUMENTS: Mapping[str, str] = {
    "nested 300": '{"command": ' + "[" * 300 + "]" * 300 + "}",
    "nested 900": '{"command": ' + "[" * 900 + "]" * 900 + "}",
    "nested 5000": "[" * 5000 + "]" * 5000,
    "integer of 4300 digits": '{"command": ' + "9" * 4300 + "}",
    "integer of 5000 digits": '{"command": ' + "9" * 5000 + "}",
    "NaN": '{"command": NaN}',
    "infinity": '{"command": "true", "timeout_s": 1e999}',
    "half a pair": '{"command": "\\ud800"}',
    "zero byte": '{"command": "\\u0000"}',
    "no object": "17",
    "nothing": "",
}


@pytest.mark.property
@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("interface", ["shell", "tool"])
def test_any_arguments_are_graded(tmp_path: Path, presigned: Task, name: str, interface: str) -> None:
    """What a model writes into a tool call is its own mistake, and never the provider's failure."""
    tool = "run" if interface == "shell" else "http_request"
    said = ScriptedReply(tool_calls=(ScriptedCall(name=tool, arguments=ARGUMENTS[name]),))
    with OpenAIServer(Script(replies=(said, said))) as server:
        result = graded(tmp_path, presigned, server.url, interface=interface)
        asked = len(server.requests)

    # a reply that nobody could read is not part of the conversation, so this model says it again until its turns are used up
    assert (result.cause, asked in {3, 4}) == (None, True)


@pytest.mark.parametrize("tool", ["multi_tool_use.parallel", "no_such_tool"])
def test_any_tool_is_graded(tmp_path: Path, presigned: Task, tool: str) -> None:
    """The one broken name that LiteLLM mends, with arguments that break its mending, and others."""
    said = ScriptedReply(tool_calls=(ScriptedCall(name=tool, arguments='{"tool_uses": 17}'),))
    with OpenAIServer(Script(replies=(said,))) as server:
        assert graded(tmp_path, presigned, server.url).cause is None


@pytest.mark.parametrize("body", ["é", "%%%", "="])
def test_body_that_is_no_base64(tmp_path: Path, presigned: Task, body: str) -> None:
    """The model is told; a letter that is not even ASCII once left the episode ungraded."""
    with OpenAIServer(script(call("submit", body=body, encoding="base64"), "done")) as server:
        result = graded(tmp_path, presigned, server.url, interface="tool")

    assert "not base64" in (Path(result.path) / "trajectory.json").read_text(encoding="utf-8")


STORES: Mapping[str, dict[str, str]] = {
    "takes for ever": {"pattern": "(a|a|aa)+$x", "source": "instruction"},
    "backtracks": {"pattern": r"((?:.|\s)*)*never", "source": "instruction"},
    "too large": {"pattern": "a{99999999999999999999}", "source": "instruction"},
    "nested": {"pattern": "(" * 5000 + ")" * 5000, "source": "instruction"},
    "index": {"json_pointer": "/" + "9" * 5000},
}


@pytest.mark.property
@pytest.mark.parametrize("name", STORES)
def test_any_value_handle_is_graded(tmp_path: Path, presigned: Task, name: str) -> None:
    """A pattern is searched for in a process of its own, so that one that takes for ever ends."""
    first = call("http_request", method="GET", url="/clock")
    said = call("store", name="x", **STORES[name])
    with OpenAIServer(Script(replies=(first, said))) as server:
        result = graded(tmp_path, presigned, server.url, interface="tool", handles=True)

    assert result.cause is None
