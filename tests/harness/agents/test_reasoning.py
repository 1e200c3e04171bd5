"""Reasoning goes back to the model as its server gave it, and a server that refuses it is asked without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agents.llm.completion import NO_TEXT, without_reasoning
from harness.agents.llm.model import ModelClient, ModelSettings, has_arrived
from harness.agents.llm.response_cache import ResponseCache
from harness.errors import ProviderFailure
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Messages, Script, ScriptedReply, script
from tests.harness.agents.odd_bodies import ASKED, TOOLS, Json, asking, called, fault_of, raw, said
from tests.harness.agents.signed_link import LocalPod, playing, task_of
from tests.sampling import spread


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key but those a test sets."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def pod(tmp_path: Any) -> Any:
    """A fresh episode."""
    return LocalPod(tmp_path)


REASONING: dict[str, Json] = {
    "deepseek": {"reasoning_content": "I think «1»"},
    "vllm": {"reasoning": "I think «2»"},
    "openrouter": {
        "reasoning": "I think", "reasoning_details": [
            {"type": "reasoning.text", "text": "I think", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", "format": "openai-responses-v1", "index": 1},
        ],
    },
    "proxy": {"thinking_blocks": [{"type": "thinking", "thinking": "I think", "signature": "c2ln"}]},
    "google": {"extra_content": {"google": {"thought_signature": "c2ln"}}},
}  # fmt: skip


@pytest.mark.parametrize("prefix", spread(["openai", "deepseek", "openrouter", "moonshot", "xai", "zai"], few=1))
@pytest.mark.parametrize("fields", REASONING.values(), ids=REASONING)
@pytest.mark.parametrize("message", [said("So."), called()], ids=["text", "call"])
def test_reasoning_goes_back_unchanged(prefix: str, fields: Json, message: Json) -> None:
    """What a server gave of the model's reasoning is in the next request as it came, under the same name and no other."""
    with asking(raw({**message, **fields}), prefix=prefix) as (client, server):
        reply = client.complete(ASKED, TOOLS)
        told = [{"role": "tool", "tool_call_id": a.call_id, "content": "ok"} for a in reply.actions]
        again = client.complete([*ASKED, reply.message, *(told or ASKED)], TOOLS)

    sent = server.requests[1].messages[1]
    assert {name: value for name, value in sent.items() if name not in {"role", "content", "tool_calls"}} == fields
    assert not again.lost_reasoning


@pytest.mark.parametrize("fields", [REASONING["google"], {"provider_specific_fields": {"thought_signature": "c2ln"}}])
def test_signatures_of_calls_go_back(fields: Json) -> None:
    """A signature that a server puts beside a tool call stands there again."""
    with asking(raw(called(**fields))) as (client, server):
        reply = client.complete(ASKED, TOOLS)
        client.complete([*ASKED, reply.message, {"role": "tool", "tool_call_id": "c1", "content": "ok"}], TOOLS)

    (sent,) = server.requests[1].messages[1]["tool_calls"]
    assert {name: sent.get(name) for name in fields} == fields


ANTHROPIC = {
    "id": "m", "type": "message", "role": "assistant", "model": "c", "stop_reason": "tool_use",
    "usage": {"input_tokens": 50, "output_tokens": 7},
    "content": [
        {"type": "thinking", "thinking": "I think", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "ZW5j"},
        {"type": "tool_use", "id": "c1", "name": "run", "input": {"a": 1}},
    ],
}  # fmt: skip
GOOGLE = {
    "candidates": [{
        "finishReason": "STOP",
        "content": {"role": "model", "parts": [
            {"text": "I think", "thought": True},
            {"functionCall": {"name": "run", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
        ]},
    }],
    "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 7, "totalTokenCount": 57},
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "answer", "kept"),
    [
        ("anthropic/claude-sonnet-4-5", ANTHROPIC, ("I think", "c2ln", "ZW5j")),
        ("gemini/gemini-3-pro-preview", GOOGLE, ("I think", "c2ln")),
    ],
    ids=["anthropic", "google"],
)
def test_reasoning_goes_back_to_other_apis(model: str, answer: Json, kept: tuple[str, ...]) -> None:
    """Thoughts and signatures of APIs that are not OpenAI's are in the next request too, through LiteLLM's translation."""
    always = Fault(status=200, body=json.dumps(answer))
    with OpenAIServer(weather=lambda number, seconds: always) as server:
        base = server.url.removesuffix("/v1")
        client = ModelClient(ModelSettings(model, api_base=base, api_key="k" * 9, patience_s=0.0), say=lambda line: None)
        reply = client.complete(ASKED, TOOLS)
        told = {"role": "tool", "tool_call_id": reply.actions[0].call_id, "content": "ok"}
        again = client.complete([*ASKED, reply.message, told], TOOLS)

    assert (reply.actions[0].tool, reply.actions[0].arguments, reply.usage.prompt_tokens) == ("run", {"a": 1}, 50)
    assert all(text in json.dumps(server.requests[1].body) for text in kept)
    assert (reply.reasoning, again.lost_reasoning) == ("I think", False)


def picky(status: int = 400, told: str = "reasoning_content is not permitted in input messages") -> Script:
    """A server whose model reasons, calls a tool, then answers, and which refuses to be sent its reasoning."""

    def answer(messages: Messages) -> ScriptedReply:
        if any("reasoning_content" in message for message in messages):
            return ScriptedReply(faults=(fault_of(status, told),))
        arguments = json.dumps({"method": "GET", "url": "/link"})
        is_first = not any(message["role"] == "assistant" for message in messages)
        return raw({**called("http_request", arguments), "reasoning_content": "hm"}) if is_first else raw(said("Done."))

    return Script(play=answer)


def test_a_server_that_refuses_reasoning_is_asked_without_it(pod: Any) -> None:
    """The request goes out again without reasoning, which is remembered and said once, and the episode is marked."""
    lines: list[str] = []
    with playing(picky(), say=lines) as (agent, server):
        first, second = Report(agent="llm"), Report(agent="llm")
        agent.play(task_of(), 0, pod, Budget(), first)
        refused = len(server.requests)
        agent.play(task_of(), 1, pod, Budget(), second)

    assert (refused, len(server.requests)) == (3, 5)
    assert (first.disturbed, second.disturbed) == ({"reasoning_dropped": 1}, {"reasoning_dropped": 1})
    assert [line for line in lines if "reasoning" in line] == lines[:1]


def test_a_server_that_demands_reasoning_is_believed() -> None:
    """Where the request without reasoning is refused too, that is the provider's refusal, and nothing is remembered."""
    refusing = Script(play=lambda messages: ScriptedReply(faults=(fault_of(400, "reasoning_content must be passed back"),)))
    message = said("So.", reasoning_content="hm")
    with asking(refusing) as (client, server), pytest.raises(ProviderFailure, match="must be passed back"):
        client.complete([*ASKED, message, *ASKED])

    assert ["reasoning_content" in request.messages[1] for request in server.requests] == [True, False]


def test_reasoning_that_litellm_drops_is_noticed() -> None:
    """A provider's translation that leaves reasoning out marks the reply and is said."""
    lines: list[str] = []
    with asking(raw(said("So.", reasoning_content="hm")), prefix="mistral") as (client, _):
        client.say = lines.append
        reply = client.complete(ASKED)
        again = client.complete([*ASKED, reply.message, *ASKED])

    assert (reply.lost_reasoning, again.lost_reasoning, len(lines)) == (False, True, 1)


def test_reasoning_in_other_shapes() -> None:
    """Reasoning is found in a translated request by its words, and taken out of parts and calls."""
    blocks = [{"type": "thinking", "thinking": "hm"}]
    message = {**called(extra_content={"google": {"thought_signature": "s1"}}), "thinking_blocks": blocks}

    assert has_arrived('{"contents": [{"text": "hm", "thought": true, "thoughtSignature": "s1"}]}', [message])
    assert not has_arrived('{"contents": [{"text": "hm"}]}', [message])
    assert has_arrived(json.dumps({"text": "\u00e9"}), [said(reasoning="\u00e9")])
    assert not has_arrived(json.dumps({"text": "e"}), [said(reasoning="\u00e9")])
    assert without_reasoning([message]) == [called()]
    assert without_reasoning([said([{"type": "thinking", "thinking": "hm"}])]) == [said(NO_TEXT)]


def test_replies_of_a_cache_carry_the_same_reasoning(tmp_path: Any) -> None:
    """A conversation out of the cache asks the same questions, reasoning and all, so no call is made."""
    arguments = json.dumps({"seconds": 1})
    kept = script(raw({**called("wait", arguments), "reasoning_content": "hm"}), raw(said("Done.", reasoning_content="so")))
    with playing(kept) as (agent, server):
        for made in (2, 0):
            agent.replies = ResponseCache(tmp_path / "cache", probes=False)
            (folder := tmp_path / str(made)).mkdir()
            agent.play(task_of(), 0, LocalPod(folder), Budget(), Report(agent="llm"))
            assert agent.replies.made == made

    assert server.requests[1].messages[2]["reasoning_content"] == "hm"
