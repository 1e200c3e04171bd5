"""Replies without an action: which are told to the model, which end an episode, and which are faults of the set-up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.agent import Budget, Report
from harness.agents.llm.agent import CUT_OFF, EMPTY, MOST_CUT_OFF, MOST_UNUSABLE, NOT_CALLED
from harness.agents.llm.completion import is_written_call
from harness.agents.seats.model import MOST_CUT_OFF as MOST_CUT_OFF_OF_A_SEAT
from harness.agents.seats.model import ModelSeat
from harness.errors import SetupFault
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, ScriptedReply, call
from tests.conftest import Command
from tests.harness.agents.odd_bodies import USAGE, Json, asking, called, fault_of, raw, said
from tests.harness.agents.signed_link import LocalPod, answers, play, playing, task_of
from worlds.core.turns import OpenTurn


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key but those a test sets."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def pod(tmp_path: Any) -> Any:
    """A fresh episode."""
    return LocalPod(tmp_path)


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

    assert (report.tool_calls, '"virtual_time"' in answers(report)[0]) == (1, True)
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
        "sambanova does not support parameters: ['tools'], for model=x",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_servers_that_take_no_tools(pod: Any, status: int, told: str) -> None:
    """A server that says that it does not support tools is no failure of the provider, and the advice can help."""
    with pytest.raises(SetupFault, match="--protocol text") as fault:
        play(pod, ScriptedReply(faults=(fault_of(status, told),)))

    assert (fault.value.name, "--protocol text" in fault.value.hint) == ("tools_not_seen", True)


def test_replies_that_are_always_cut_off(pod: Any) -> None:
    """A model that never gets to act is a fault of the set-up, and a thought that was cut off is told as such."""
    thought = raw(said(None, reasoning_content="First I"), "length")
    with pytest.raises(SetupFault, match="--reply-tokens") as fault:
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
    """At a seat these oddities lose nothing; what goes back has its reasoning and no call that nobody answers."""
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


@pytest.mark.parametrize(
    "message",
    [
        said(None, reasoning_content="First I"),
        said("<think>First I"),
        said('{"thinking": "First I'),
        said('```json\n{"thinking": "I", "actions": [{"type": "dm", "to": 1}, {"type": "d'),
    ],
    ids=["field", "tag", "object", "list"],
)
def test_a_seat_whose_replies_are_always_cut_off(message: Json) -> None:
    """A seat that never gets to an answer is a fault of the set-up: in thoughts, also in the text, and inside JSON."""
    thought = raw(message, "length")
    with asking(Script(play=lambda messages: thought)) as (client, _):
        seat = ModelSeat(0, client, "Rules.")
        for _ in range(MOST_CUT_OFF_OF_A_SEAT - 1):
            seat.keep(TURN, seat.ask(TURN))
        with pytest.raises(SetupFault, match="--reply-tokens"):
            seat.ask(TURN)


@pytest.mark.parametrize(
    "text", ["I would rather", '{"vote": "x"} because {it', '{"vote": "x"'], ids=["prose", "whole", "complete"]
)
def test_a_seat_that_says_something_before_it_is_cut_off(text: str) -> None:
    """A reply that was cut off counts as one where anything of it can be read."""
    with asking(Script(play=lambda messages: raw(said(text), "length"))) as (client, _):
        seat = ModelSeat(0, client, "Rules.")
        replies = [seat.ask(TURN) for _ in range(MOST_CUT_OFF_OF_A_SEAT + 1)]

    assert {reply.text for reply in replies} == {text}


@pytest.mark.property
@pytest.mark.parametrize(
    ("reply", "flag"),
    [
        (raw(said('<tool_call>\n{"name": "wait", "arguments": {"seconds": 1}}\n</tool_call>')), "--protocol text"),
        (raw(said("So the first thing"), "length"), "--reply-tokens N"),
    ],
)
def test_the_next_command_can_cure_the_set_up(harness: Command, tmp_path: Any, reply: ScriptedReply, flag: str) -> None:
    """A resumed run keeps the flags that are at fault, so the hint is a new run with another one."""
    out = tmp_path / "a run"
    with OpenAIServer(Script(replies=(reply,) * 20)) as server:
        done = harness(
            "run", "presigned-url-download", "--model", "openai/x", "--api-base", server.url, "--interface", "tool",
            "--runtime", "inprocess", "--no-probe", "--out", out, env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip

    assert "--resume" not in done.stderr
    assert f"try: harness run presigned-url-download --model openai/x --api-base {server.url}" in done.stderr
    assert done.stderr.rstrip().endswith(f"{flag} --out '{out}-2'")
