"""One scripted model with a growing conversation is judged alike, however its server says that the context is full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agents.llm.agent import LlmAgent, LlmConfig
from harness.errors import BoundaryError, SetupFault
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Messages, Script, ScriptedReply, ScriptedUsage, call
from tests.harness.agents.signed_link import LocalPod, task_of
from tests.harness.agents.test_context_errors import FULL
from tests.sampling import spread

LIMIT = 10_000
"""Tokens of the context of every scripted server, at four characters a token."""


def tokens(messages: Messages) -> int:
    """The tokens of a conversation."""
    return len(json.dumps(list(messages))) // 4


def rambling(messages: Messages) -> ScriptedReply:
    """A model that asks for the same long page until somebody stops it."""
    made = call("http_request", method="GET", url="/long")
    return made.model_copy(update={"usage": ScriptedUsage(prompt=tokens(messages), completion=30)})


def overflowing(one: dict[str, Any]) -> Script:
    """That model at a server that answers a conversation beyond the limit with this body."""
    fault = Fault(status=one["status"], body=one["text"], times=999)

    def play(messages: Messages) -> ScriptedReply:
        return rambling(messages) if tokens(messages) <= LIMIT else ScriptedReply(faults=(fault,))

    return Script(model=f"{FULL.index(one)}", play=play)


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """All servers of the table, told apart by the name of the model."""
    with OpenAIServer(*map(overflowing, FULL), Script(play=rambling)) as running:
        yield running


def played(server: OpenAIServer, folder: Path, model: str, context: int | None = None) -> tuple[Any, ...]:
    """How an episode went: what stopped it, turns, requests of the world, its label."""
    pod = LocalPod(folder)
    config = LlmConfig(f"openai/{model}", interface="tool", api_base=server.url, api_key="k", context=context, patience_s=1.0)
    agent, report = LlmAgent(config, say=lambda line: None), Report(agent="llm")
    agent.play(task_of(), 0, pod, Budget(turns=12), report)
    return report.stopped_by, report.tool_calls, tuple(pod.kinds), tuple(pod.stopped)


@pytest.mark.parametrize("one", spread(FULL), ids=lambda one: one["server"])
def test_the_wording_does_not_change_the_verdict(server: OpenAIServer, tmp_path: Path, one: dict[str, Any]) -> None:
    """Score, label and cause are those of a context that is full after the same number of turns."""
    stopped, calls, kinds, causes = played(server, tmp_path, f"{FULL.index(one)}")

    assert (stopped, causes) == ("context", ("context",))
    assert calls == 2
    assert kinds == ("opened", "ok", "ok", "stop")


def test_a_server_that_says_nothing_is_stopped_by_the_flag(server: OpenAIServer, tmp_path: Path) -> None:
    """With `--context` the same model ends at the same turn on a server that would read on."""
    before = len(server.requests)
    stopped, calls, kinds, causes = played(server, tmp_path, "silent", context=LIMIT)

    assert (stopped, causes) == ("context", ("context",))
    assert (calls, kinds) == (2, ("opened", "ok", "ok", "stop"))
    assert len(server.requests) - before == 2


def test_without_the_flag_nothing_is_counted(server: OpenAIServer, tmp_path: Path) -> None:
    """A server that reads on is asked on, until another budget ends the episode."""
    assert played(server, tmp_path, "silent")[:2] == ("turns", 12)


def test_a_context_that_never_fits_is_the_set_ups_fault(server: OpenAIServer, tmp_path: Path) -> None:
    """Where the first request of an episode does not fit, nothing was measured."""
    with pytest.raises(SetupFault, match="the first request of the episode is longer than the model's context") as caught:
        played(server, tmp_path, "silent", context=100)

    assert (caught.value.name, caught.value.cause) == ("context_too_small", "setup")
    assert isinstance(caught.value, BoundaryError)
