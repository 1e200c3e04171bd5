"""The small calls before a run: a tool is offered where one will be needed, and what servers say of tools is understood."""

from __future__ import annotations

from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agents.llm.failures import Refused, refuses_tools
from harness.agents.llm.model import READY, ModelClient, ModelSettings, Quirks, without_system
from harness.agents.seats.agent import SeatAgent
from harness.errors import SetupFault
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, ScriptedReply, script
from tests.harness.agents.faulty_servers import FAULTS, FaultyServer, Planted

HELLO = [{"role": "user", "content": "hello"}]


def client(base: str) -> tuple[ModelClient, list[str]]:
    """A client, and what it says."""
    said: list[str] = []
    return ModelClient(ModelSettings("openai/any", base, "k", patience_s=1.0), say=said.append), said


@pytest.mark.parametrize(("protocol", "tools", "offered"), [("tools", True, 1), ("tools", False, 0), ("text", True, 0)])
def test_a_tool_is_offered_where_one_is_needed(protocol: str, tools: bool, offered: int) -> None:
    """Games need none, and neither does the text protocol; one call is enough where the model calls the tool."""
    with OpenAIServer(script("hi")) as server:
        spec = AgentSpec.model_validate({"kind": "llm", "model": "openai/any", "api_base": server.url, "protocol": protocol})
        SeatAgent(spec, say=lambda line: None).probe(tools=tools)

    assert [len(probe.body.get("tools", ())) for probe in server.probes] == [offered]


def test_a_game_is_followed_by_a_task() -> None:
    """A client that was tried without a tool is tried again with one, and then no more."""
    with OpenAIServer(script("hi")) as server:
        made, _ = client(server.url)
        for tools in (False, True, False, True):
            made.probe(tools=tools)

    assert ["tools" in probe.body for probe in server.probes] == [False, True]


@pytest.mark.parametrize("name", ["ignores tools", "returns calls as text", "refuses tools"])
def test_tools_that_never_arrive_are_the_set_up(name: str) -> None:
    """The fault names the protocol that works."""
    with FaultyServer(FAULTS[name]) as server, pytest.raises(SetupFault) as caught:
        client(server.url)[0].probe(tools=True)

    assert (caught.value.cause, caught.value.hint) == ("setup", "harness run ... --protocol text")


class _Ignorant(FaultyServer):
    """A model that is shown tools and never calls one."""

    def reply(self, body: Any) -> ScriptedReply:
        """A plain word."""
        return ScriptedReply(text="no", usage="counted" if self.fault.counts else "none")


@pytest.mark.parametrize("counts", [True, False])
def test_a_model_that_ignores_tools_is_an_agent(counts: bool) -> None:
    """Where its prompt grows with the tool, or nobody counts tokens, the run goes on."""
    with _Ignorant(Planted("", "", counts=counts)) as server:
        made, said = client(server.url)
        made.probe(tools=True)

    assert "answered a first small call" in said[0]


def test_a_refusal_of_tools_ends_an_episode_as_set_up() -> None:
    """Without the probe, the first request of an episode says the same."""
    with FaultyServer(FAULTS["refuses tools"]) as server, pytest.raises(SetupFault, match="does not support tools"):
        client(server.url)[0].complete(HELLO, [READY])


@pytest.mark.parametrize(
    "told",
    [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "tools param requires --jinja flag",
        'No endpoints found that support tool use. Try disabling "browser_search".',
        "tool calling is not supported with this model",
        "Function calling is not enabled for this model",
        "This model doesn't support tool use.",
        "deepseek-reasoner does not support Function Calling",
        "openai does not support parameters: ['tools'], for model=x",
    ],
)  # fmt: skip
def test_a_server_says_that_it_takes_no_tools(told: str) -> None:
    """As Ollama, vLLM, llama.cpp, OpenRouter, Groq, Mistral, Bedrock, DeepSeek and LiteLLM say it."""
    assert refuses_tools(Refused(told, 400))


@pytest.mark.parametrize("told", ["This model only supports single tool-calls at once!", "Invalid 'tools': empty array", "No"])
def test_a_refused_conversation_is_no_refusal_of_tools(told: str) -> None:
    """Another request may hold tools."""
    assert not refuses_tools(Refused(told, 400))


@pytest.mark.parametrize(
    ("told", "is_refused"),
    [
        ("System role not supported", True),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", True),
        ("Only user and assistant roles are supported!", True),
        ("Conversation roles must alternate user/assistant/user/assistant/...", True),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", True),
        ('messages: Unexpected role "system".', True),
        ("Your system prompt was flagged by moderation", False),
        ("a system error", False),
    ],
)
def test_a_refused_system_role_is_worked_around(told: str, is_refused: bool) -> None:
    """Its text goes in front of the first user message, in this request and in all that follow."""
    said: list[str] = []
    quirks, request = Quirks("m", {}, said.append), {"messages": [{"role": "system", "content": "Rules."}, *HELLO]}
    assert quirks.work_around(Refused(told, 400), request) == is_refused
    if not is_refused:
        return

    assert quirks.adapted(request)["messages"] == [{"role": "user", "content": "Rules.\n\nhello"}]
    assert (quirks.effective, len(said)) == ({"system_role": "user"}, 1)


def test_a_system_message_that_was_answered_is_not_blamed_later() -> None:
    """Turns that do not alternate after an assistant's message say nothing about the system role."""
    said: list[str] = []
    quirks = Quirks("m", {}, said.append)
    roles = ("system", "user", "assistant", "tool", "user")
    request = {"messages": [{"role": role, "content": "So."} for role in roles]}

    assert not quirks.work_around(Refused("Conversation roles must alternate user/assistant/user/assistant/...", 500), request)
    assert (said, quirks.refuses_system) == ([], False)


def test_system_messages_alone_become_a_user_message() -> None:
    """A conversation begins with a user."""
    assert without_system([{"role": "system", "content": "Go."}]) == [{"role": "user", "content": "Go."}]


def test_the_output_limit_has_two_names() -> None:
    """A server that refuses one is sent the other, one that refuses both is sent none; a resumed run knows."""
    with OpenAIServer(Script(play=lambda messages: "hi", refuses=("max_tokens",))) as server:
        said: list[str] = []
        made = ModelClient(ModelSettings("openai/any", server.url, "k", max_tokens=9), say=said.append)
        made.complete(HELLO)
        later = Quirks("m", made.requested, said.append)
        later.learn(made.effective)

    assert server.requests[-1].body["max_completion_tokens"] == 9
    assert made.effective == later.effective == {"temperature": 0.0, "max_completion_tokens": 9}
    later.work_around(Refused("max_completion_tokens is not supported", 400), later.adapted({"messages": HELLO}))
    assert later.effective == {"temperature": 0.0}


def test_a_value_of_the_limit_is_no_reason_to_drop_it() -> None:
    """What is too large stays the user's to change."""
    quirks = Quirks("m", {"max_tokens": 99999}, lambda line: None)
    told = "max_tokens is too large: 99999. This model supports at most 16384 completion tokens"

    assert not quirks.work_around(Refused(told, 400), quirks.adapted({"messages": HELLO}))
