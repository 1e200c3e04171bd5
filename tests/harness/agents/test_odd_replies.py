"""What a provider's successful answer means, whatever its shape: real LiteLLM, real HTTP, bodies written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.agents.llm.completion import NO_TEXT
from harness.errors import ProviderFailure, RetriesExhausted
from parley.testing.scripts import Script, ScriptedReply
from tests.harness.agents.odd_bodies import ASKED, PROVIDERS, TOOLS, USAGE, Json, asking, body, called, raw, said


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key but those a test sets."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@PROVIDERS
@pytest.mark.parametrize(
    ("message", "tool", "arguments"),
    [
        (called(arguments={"a": 1}), "run", {"a": 1}),
        (called(arguments=None), "run", {}),
        (called(arguments=""), "run", {}),
        (called(arguments=json.dumps(json.dumps({"a": 1}))), "run", {"a": 1}),
        (called(name=" functions.run "), "run", {"a": 1}),
        (called(name="run<|channel|>commentary"), "run", {"a": 1}),
        (called(name=None), "", {"a": 1}),
        (said(function_call={"name": "run", "arguments": '{"a": 1}'}), "run", {"a": 1}),
        (said(tool_calls={"id": "x", "function": {"name": "run", "arguments": "{}"}}), "run", {}),
        (said(tool_calls=[{"id": "x", "name": "run", "arguments": "{}"}]), "run", {}),
        ({"content": None, "tool_calls": called()["tool_calls"]}, "run", {"a": 1}),
    ],
    ids=["object", "null", "empty", "twice", "namespace", "channel", "no-name", "legacy", "no-list", "flat", "no-role"],
)
def test_tool_calls_of_any_shape_are_read_and_go_back(prefix: str, message: Json, tool: str, arguments: Json) -> None:
    """A call is what it says, and what the next request repeats of it is a string of JSON with a name and an id."""
    with asking(raw(message), prefix=prefix) as (client, server):
        (action,) = (reply := client.complete(ASKED, TOOLS)).actions
        client.complete([*ASKED, reply.message, {"role": "tool", "tool_call_id": action.call_id, "content": "ok"}], TOOLS)

    assert (action.tool, action.arguments, action.problem) == (tool, arguments, "")
    (sent,) = server.requests[1].messages[1]["tool_calls"]
    assert sent["id"] == server.requests[1].messages[2]["tool_call_id"] == action.call_id
    assert sent["function"]["name"] == (tool or "unknown")
    assert json.loads(sent["function"]["arguments"]) == arguments


@pytest.mark.parametrize("ids", [(None, None), ("a", "a"), (5, 6), ("x" * 90, "y" * 90)], ids=["none", "equal", "int", "long"])
def test_ids_of_calls_are_told_apart(ids: tuple[Any, Any]) -> None:
    """Two calls have two ids, which are texts; what a server named in any length keeps its name."""
    calls = [called(id=one)["tool_calls"][0] for one in ids]
    with asking(raw(said(tool_calls=calls))) as (client, _):
        first, second = client.complete(ASKED, TOOLS).actions

    assert first.call_id != second.call_id
    assert {len(first.call_id), len(second.call_id)} <= {90} or max(len(first.call_id), len(second.call_id)) < 40


@PROVIDERS
@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        (said([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", None),
        (said([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}]), "a", "hm"),
        (said({"text": "a"}), "a", None),
        (said(5), "5", None),
        (said("<think>hm</think>a"), "a", "hm"),
        (said("a", reasoning="hm"), "a", "hm"),
        (said(None, refusal="I cannot."), "I cannot.", None),
        ({"content": "a"}, "a", None),
    ],
    ids=["parts", "thinking-part", "object", "number", "think", "reasoning", "refusal", "no-role"],
)
def test_texts_of_any_shape_are_read(prefix: str, message: Json, text: str, reasoning: str | None) -> None:
    """What a message says is read from parts, numbers, refusals, and beside thoughts."""
    with asking(raw(message), prefix=prefix) as (client, _):
        reply = client.complete(ASKED)

    assert (reply.text, reply.reasoning, reply.is_refusal) == (text, reasoning, "refusal" in message)


def test_the_choice_that_says_something_counts() -> None:
    """Of several choices an empty first one does not hide the second."""
    two = body(said(""))
    two["choices"].append(body(said("two"))["choices"][0])
    with asking(ScriptedReply(raw=two)) as (client, _):
        assert client.complete(ASKED).text == "two"


@PROVIDERS
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (body(said(""), "error", error={"code": 502, "message": "upstream died"}), "upstream died"),
        (body(said("half an ans"), "insufficient_system_resource"), "insufficient_system_resource"),
        (body(said(None), "stop", {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}), "reply was empty"),
        (body(said(""), "stop", None), "reply was empty"),
        (body(None), "without a message"),
        ({**body(None), "choices": []}, "without a choice"),
        ({**body(None), "choices": None}, "without a choice"),
    ],
    ids=["error", "resource", "no-tokens", "no-usage", "null-message", "no-choice", "null-choices"],
)
def test_failures_inside_an_answer_are_the_providers(prefix: str, answer: Json, told: str) -> None:
    """An answer with status 200 that reports a failure, or holds nothing, is retried, then the provider's failure."""
    answers = iter([answer, answer, body(said("fine"))])
    with asking(Script(play=lambda messages: ScriptedReply(raw=next(answers))), prefix=prefix) as (client, server):
        with pytest.raises(RetriesExhausted) as failed:
            client.complete(ASKED)
        client.settings = replace(client.settings, patience_s=60.0)
        assert client.complete(ASKED).text == "fine"

    assert told in str(failed.value)
    assert "Traceback" not in str(failed.value)
    assert len(server.requests) == 3


def test_a_refused_request_inside_an_answer_is_not_repeated() -> None:
    """An error of the request itself, reported inside an answer, is the provider's refusal."""
    answer = ScriptedReply(raw=body(said(""), "error", error={"code": 400, "message": "bad schema"}))
    with asking(answer, patience_s=5.0) as (client, server), pytest.raises(ProviderFailure, match="bad schema") as failed:
        client.complete(ASKED)

    assert (failed.value.name, len(server.requests)) == ("provider_refusal", 1)


@pytest.mark.parametrize("finish", ["content_filter", "sensitive", "SAFETY"])
def test_a_filtered_reply_is_the_providers(finish: str) -> None:
    """A content filter that leaves nothing is named, and not asked again; one that leaves text is a reply."""
    with asking(raw(said(None), finish), patience_s=5.0) as (client, server), pytest.raises(ProviderFailure) as failed:
        client.complete(ASKED)
    with asking(raw(said("As far as I may say"), finish)) as (client, _):
        assert client.complete(ASKED).text == "As far as I may say"

    assert (failed.value.name, len(server.requests)) == ("content_filter", 1)


@PROVIDERS
@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": -6, "completion_tokens": -1, "total_tokens": -7}, None),
        ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, None),
        (None, None),
        ([], None),
        ({"prompt_tokens": "many", "completion_tokens": "few", "total_tokens": "all"}, None),
        ({"prompt_tokens": 50.0, "completion_tokens": 6.6, "total_tokens": 56.6}, (50, 7, 0, 0)),
        ({"prompt_tokens": "50", "completion_tokens": "7", "total_tokens": "57"}, (50, 7, 0, 0)),
        ({**USAGE, "completion_tokens_details": {"reasoning_tokens": 90}}, (50, 90, 0, 90)),
        ({**USAGE, "total_tokens": 147, "completion_tokens_details": {"reasoning_tokens": 90}}, (50, 97, 0, 90)),
        ({**USAGE, "prompt_tokens_details": {"cached_tokens": 80}}, (50, 7, 50, 0)),
    ],
    ids=["negative", "null", "none", "list", "words", "float", "text", "reasoning", "apart", "cached"],
)
def test_usage_is_whole_numbers_that_fit(prefix: str, usage: Any, counts: tuple[int, ...] | None) -> None:
    """Counts are non-negative integers, the provider's where they are counts, else ours, marked as estimated."""
    with asking(raw(said("hello"), "stop", usage), prefix=prefix) as (client, _):
        told = client.complete(ASKED).usage

    found = (told.prompt_tokens, told.completion_tokens, told.cached_tokens, told.reasoning_tokens)
    assert all(isinstance(one, int) and one >= 0 for one in found)
    assert told.estimated == (counts is None)
    assert min(found[:2]) > 0 if counts is None else found == counts


@PROVIDERS
@pytest.mark.parametrize("content", ["", None, "  \n"])
def test_empty_content_goes_back_as_null_or_a_placeholder(prefix: str, content: Any) -> None:
    """Beside tool calls it is null or left out, else words: some servers refuse an empty text."""
    with asking(raw({**called(), "content": content}), prefix=prefix) as (client, server):
        reply = client.complete(ASKED, TOOLS)
        client.complete([*ASKED, reply.message, {"role": "tool", "tool_call_id": "c1", "content": "ok"}], TOOLS)
    with asking(raw(said(content)), prefix=prefix) as (client, plain):
        client.complete([*ASKED, client.complete(ASKED).message, *ASKED])

    assert server.requests[1].messages[1].get("content") is None
    assert plain.requests[1].messages[1]["content"] == NO_TEXT
