"""What a provider's successful answer means, whatever its shape: real LiteLLM, real HTTP, bodies written by hand."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agents.llm.conversation import CUT_OFF, EMPTY, MOST_CUT_OFF, MOST_UNUSABLE, NOT_CALLED
from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.reasoning import NO_TEXT, has_arrived, without_reasoning
from harness.agents.llm.replies import Replies
from harness.agents.llm.written_calls import is_written_call
from harness.agents.seating.model import MOST_CUT_OFF as MOST_CUT_OFF_OF_A_SEAT
from harness.agents.seating.model import ModelSeat
from harness.errors import OutOfPatience, ProviderFailure, SetupFault
from harness.testing.openai_server import OpenAIServer
from harness.testing.scripts import Fault, Messages, Script, ScriptedReply, call, script
from tests.agents.signed_link import LocalPod, answers, play, playing, task_of
from worlds.core.turns import OpenTurn

Json = dict[str, Any]

USAGE = {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57}
TOOLS = [{"type": "function", "function": {"name": "run", "description": "Runs.", "parameters": {"type": "object"}}}]
ASKED: list[Json] = [{"role": "user", "content": "Go."}]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key but those a test sets."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def pod(tmp_path: Any) -> Any:
    """A fresh episode."""
    return LocalPod(tmp_path)


def body(message: Any, finish: Any = "stop", usage: Any = USAGE, **choice: Any) -> Json:
    """A chat completion with one choice."""
    made = {"index": 0, "message": message, "finish_reason": finish, **choice}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [made], "usage": usage}


def said(content: Any = None, **fields: Any) -> Json:
    """An assistant's message."""
    return {"role": "assistant", "content": content, **fields}


def called(name: Any = "run", arguments: Any = '{"a": 1}', **fields: Any) -> Json:
    """A message that is one tool call."""
    return said(tool_calls=[{"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **fields}])


def raw(message: Any, *arguments: Any, **fields: Any) -> ScriptedReply:
    """An answer with this body."""
    return ScriptedReply(raw=body(message, *arguments, **fields))


@contextlib.contextmanager
def asking(
    *replies: ScriptedReply | Script, prefix: str = "openai", **settings: Any
) -> Iterator[tuple[ModelClient, OpenAIServer]]:
    """A client without patience, and its server."""
    scripts = [one if isinstance(one, Script) else script(one) for one in replies]
    with OpenAIServer(*scripts) as server:
        told = {"patience_s": 0.0, "first_pause_s": 0.01, "api_base": server.url, "api_key": "k" * 9} | settings
        yield ModelClient(ModelSettings(f"{prefix}/anything", **told), say=lambda line: None), server


PROVIDERS = pytest.mark.parametrize("prefix", ["openai", "deepseek", "hosted_vllm"])


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
        (body(said(None), "stop", {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}), "answered with nothing"),
        (body(said(""), "stop", None), "answered with nothing"),
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
        with pytest.raises(OutOfPatience) as failed:
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

    assert (failed.value.name, len(server.requests)) == ("provider_error", 1)


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


@pytest.mark.parametrize("prefix", ["openai", "deepseek", "openrouter", "moonshot", "xai", "zai"])
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


def picky(status: int = 400, told: str = "reasoning_content is not permitted in input messages") -> Script:
    """A server whose model reasons, calls a tool, then answers, and which refuses to be sent its reasoning."""

    def answer(messages: Messages) -> ScriptedReply:
        if any("reasoning_content" in message for message in messages):
            return ScriptedReply(faults=(_fault(status, told),))
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
    refusing = Script(play=lambda messages: ScriptedReply(faults=(_fault(400, "reasoning_content must be passed back"),)))
    message = said("So.", reasoning_content="hm")
    with asking(refusing) as (client, server), pytest.raises(ProviderFailure, match="must be passed back"):
        client.complete([*ASKED, message, *ASKED])

    assert ["reasoning_content" in request.messages[1] for request in server.requests] == [True, False]


def _fault(status: int, message: str) -> Any:
    return Fault(status=status, message=message, times=9)


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

    assert has_arrived({"contents": [{"text": "hm", "thought": True, "thoughtSignature": "s1"}]}, [message])
    assert not has_arrived({"contents": [{"text": "hm"}]}, [message])
    assert without_reasoning([message]) == [called()]
    assert without_reasoning([said([{"type": "thinking", "thinking": "hm"}])]) == [said(NO_TEXT)]


def test_replies_of_a_cache_carry_the_same_reasoning(pod: Any, tmp_path: Any) -> None:
    """A conversation out of the cache asks the same questions, reasoning and all, so no call is made."""
    arguments = json.dumps({"seconds": 1})
    kept = script(raw({**called("wait", arguments), "reasoning_content": "hm"}), raw(said("Done.", reasoning_content="so")))
    with playing(kept) as (agent, server):
        for made in (2, 0):
            agent.replies = Replies(tmp_path / "cache", probes=False)
            agent.play(task_of(), 0, pod, Budget(), Report(agent="llm"))
            assert agent.replies.made == made

    assert server.requests[1].messages[2]["reasoning_content"] == "hm"


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


def test_empty_replies_are_told_and_then_end_the_episode(pod: Any) -> None:
    """A reply of tokens without text is the model's: it is told, and the third in a row ends the episode."""
    report, requests = play(pod, *[raw(said(""))] * 5)

    assert [request.messages[-1]["content"] for request in requests][1:] == [EMPTY] * (MOST_UNUSABLE - 1)
    assert (report.ended_by, report.stopped_by, report.usage.calls) == ("empty_replies", None, MOST_UNUSABLE)
    assert "empty (finish reason stop)" in report.log[0]


def test_an_empty_reply_between_actions_is_no_end(pod: Any) -> None:
    """Actions begin the count of empty replies again."""
    act = call("wait", seconds=1)
    report, _ = play(pod, raw(said("")), raw(said(None)), act, raw(said("")), raw(said("")), act, "Done.")

    assert (report.tool_calls, report.ended_by) == (2, None)


def test_a_plain_answer_without_any_action_and_a_refusal_are_named(pod: Any) -> None:
    """The record says that a model answered without an action, or refused."""
    plain, _ = play(pod, "The digest is 42.")
    refused, _ = play(pod, raw(said(None, refusal="I cannot help with that.")))

    assert (plain.ended_by, refused.ended_by) == ("no_action", "refusal")
    assert refused.trajectory["steps"][-1]["message"] == "I cannot help with that."


WRITTEN = (
    '<tool_call>\n{"name": "wait", "arguments": {"seconds": 1}}\n</tool_call>',
    '[TOOL_CALLS][{"name": "wait", "arguments": {"seconds": 1}}]',
    '<function=wait>{"seconds": 1}</function>',
    '<|python_tag|>{"name": "wait", "parameters": {"seconds": 1}}',
    '<function_calls><invoke name="wait"><parameter name="seconds">1</parameter></invoke></function_calls>',
    '{"name": "wait", "arguments": {"seconds": 1}}',
    '```json\n[{"type": "function", "function": {"name": "wait", "arguments": {"seconds": 1}}}]\n```',
    "[wait(seconds=1)]",
    '<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>wait\n{"seconds": 1}',
)


@pytest.mark.parametrize("text", WRITTEN)
def test_a_tool_call_as_text_is_the_set_ups_or_told(pod: Any, text: str) -> None:
    """A server that never returned a tool call cannot parse them; after one the model is told how to call."""
    with pytest.raises(SetupFault, match="--protocol text") as fault:
        play(pod, text)
    report, requests = play(pod, call("wait", seconds=1), text, "Done.")

    assert (fault.value.name, fault.value.cause) == ("tools_not_parsed", "setup")
    assert requests[2].messages[-1]["content"] == NOT_CALLED
    assert (report.tool_calls, report.ended_by) == (1, None)


@pytest.mark.parametrize("text", ["I will wait(seconds=1).", '{"name": "Bob", "arguments": {}}', "<tool_call>?", "{}", "wait"])
def test_other_texts_are_no_calls(text: str) -> None:
    """Prose that names a tool, and JSON about something else, is an answer."""
    assert not is_written_call(text, [{"function": {"name": "wait"}}])


def test_finish_reasons_that_contradict_the_reply(pod: Any) -> None:
    """Calls count though the reason is "stop"; a reason "tool_calls" without any is told to the model."""
    wait = called("wait", '{"seconds": 1}')
    report, requests = play(pod, raw(wait, "stop"), raw(said("Calling."), "tool_calls"), "Done.")

    assert (report.tool_calls, answers(report)[0][:1]) == (1, "{")
    assert requests[2].messages[-1]["content"] == NOT_CALLED


def test_models_that_are_never_shown_the_tools(pod: Any) -> None:
    """As many prompt tokens without the tools as with them: a fault of the set-up, found by one more call for all episodes."""
    blind = Script(play=lambda messages: raw(said("I have no tools."), "stop", {**USAGE, "prompt_tokens": 900}))
    with playing(blind) as (agent, server):
        for _ in range(2):
            with pytest.raises(SetupFault, match="--protocol text") as fault:
                agent.play(task_of(), 0, pod, Budget(), Report(agent="llm"))

    assert fault.value.name == "tools_not_seen"
    assert ["tools" in request.body for request in server.requests] == [True, False, True]


@pytest.mark.parametrize("usage", [None, {**USAGE, "prompt_tokens": 1}], ids=["none", "made up"])
def test_models_that_ignore_the_tools_are_judged(pod: Any, usage: Any) -> None:
    """Without a count that can be believed, and where the tools are counted, an answer is an answer."""
    report, _ = play(pod, raw(said("No."), "stop", usage))
    counted, _ = play(pod, "No.")

    assert (report.ended_by, counted.ended_by) == ("no_action", "no_action")


@pytest.mark.parametrize(
    "told",
    [
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "tools param requires --jinja flag",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_servers_that_take_no_tools(pod: Any, status: int, told: str) -> None:
    """A server that says that it takes no tools is no failure of the provider, and the advice can help."""
    with pytest.raises(SetupFault, match="--protocol text") as fault:
        play(pod, ScriptedReply(faults=(_fault(status, told),)))

    assert (fault.value.name, "--protocol text" in fault.value.hint) == ("tools_not_seen", True)


def test_replies_that_are_always_cut_off(pod: Any) -> None:
    """A model that never gets to act is a fault of the set-up, and a thought that was cut off is told as such."""
    thought = raw(said(None, reasoning_content="First I"), "length")
    with pytest.raises(SetupFault, match="--max-tokens") as fault:
        play(pod, *[thought] * (MOST_CUT_OFF + 1))
    with pytest.raises(SetupFault, match="all 2 replies"):
        play(pod, *[thought] * 3, budget=Budget(turns=2))
    report, requests = play(pod, thought, call("wait", seconds=1), "Done.")

    assert fault.value.name == "always_cut_off"
    assert requests[1].messages[-1]["content"] == CUT_OFF
    assert report.ended_by is None


def test_a_call_under_the_text_protocol_is_text_again(pod: Any) -> None:
    """What a server parsed out of a text is carried out, and goes back as text."""
    wait = raw(called("wait", '{"seconds": 1}'))
    report, requests = play(pod, wait, "Done.", protocol="text")

    assert report.tool_calls == 1
    assert "tool_calls" not in requests[1].messages[2]
    assert json.loads(requests[1].messages[2]["content"]) == {"tool": "wait", "arguments": {"seconds": 1}}


TURN = OpenTurn(id="1.0.1", seat=0, phase="talk", round=1, text="Speak.", attempt=1, ephemeral=False)


@pytest.mark.parametrize(
    ("message", "finish", "text"),
    [
        (said([{"type": "text", "text": "yes"}]), "stop", "yes"),
        (said(None, refusal="no"), "stop", "no"),
        ({"content": "yes"}, "error_free", "yes"),
        (called("answer", {"vote": "x"}), "tool_calls", '{"vote": "x"}'),
        (said(None, function_call={"name": "answer", "arguments": '{"vote": "x"}'}), "function_call", '{"vote": "x"}'),
        (said(""), "stop", ""),
        (said("yes", reasoning_content="hm"), "stop", "yes"),
        (said("yes", reasoning_details=[{"type": "reasoning.text", "text": "hm"}]), "stop", "yes"),
    ],
    ids=["parts", "refusal", "no-role", "call", "legacy", "empty", "reasoning", "details"],
)
def test_seats_say_what_their_reply_says(message: Json, finish: str, text: str) -> None:
    """The same oddities lose nothing at a seat; what goes back has its reasoning and no call that nobody answers."""
    with asking(raw(message, finish)) as (client, server):
        seat = ModelSeat(0, client, "Rules.")
        reply = seat.ask(TURN)
        assert reply.text == text
        seat.keep(TURN, reply)
        seat.ask(TURN)

    sent = server.requests[1].messages[2]
    assert "tool_calls" not in sent
    assert sent["content"]
    assert {name: value for name, value in sent.items() if "reasoning" in name} == {
        name: value for name, value in message.items() if "reasoning" in name
    }


def test_a_seat_whose_replies_are_always_cut_off() -> None:
    """A seat that never gets to a word is a fault of the set-up."""
    with asking(raw(said(None, reasoning_content="First I"), "length")) as (client, _):
        seat = ModelSeat(0, client, "Rules.")
        for _ in range(MOST_CUT_OFF_OF_A_SEAT - 1):
            seat.keep(TURN, seat.ask(TURN))
        with pytest.raises(SetupFault, match="--max-tokens"):
            seat.ask(TURN)
