"""Checks of tool calls. Whatever a server refuses of them, `--protocol text` does without."""

from __future__ import annotations

import json
from typing import Any

from harness.agents.doctor.examination import Examination, Messages
from harness.agents.llm.failures import Refused
from harness.agents.llm.probing import READY, TOOL_PROBE, tools_fault
from harness.errors import SetupFault

_TOKENS = 400
"""Output tokens in which a model may think and call a tool."""

_SAID = "I call it."


def tools(tried: Examination) -> None:
    """Offer a tool, which is called, seen and ignored, dropped by the server, or called in words."""
    try:
        said = tried.call(TOOL_PROBE, (READY,), _TOKENS)
        fault = tools_fault(said, lambda: tried.call(TOOL_PROBE), tried.client.name)
    except SetupFault as refused:
        fault = refused
    except Refused as refusal:
        fault = SetupFault(f"a request with a tool is refused: {refusal}", "tools_not_seen")
    if fault is not None:
        tried.diagnosis.add("tools seen", "no", str(fault), protocol="text")
        return
    tried.called = said
    if said.actions:
        tried.diagnosis.add("tools seen", "yes", "the model called the offered tool")
    elif said.usage.estimated:
        seen = "no call, and no token counts to show whether the model sees tools"
        tried.diagnosis.add("tools seen", "note", seen, "--protocol text, if episodes have no tool calls")
    else:
        tried.diagnosis.add("tools seen", "note", "the model sees the tool and did not call it")


def results(tried: Examination) -> None:
    """Send the result of a tool call."""
    _accepts(tried, "tool results", "the result of a tool call", _turn(tried, _SAID))


def empty_content(tried: Examination) -> None:
    """Send a tool call without text beside it, which is how most models write it."""
    silent = tried.called is not None and not tried.called.text
    content = tried.called.message.get("content") if silent and tried.called else None
    _accepts(tried, "empty content", "a tool call without text", _turn(tried, content))


def parallel_calls(tried: Examination) -> None:
    """Send a turn of two calls, and both results."""
    _accepts(tried, "parallel calls", "a turn with two tool calls", _turn(tried, _SAID, calls=2))


def reasoning(tried: Examination) -> None:
    """Look whether reasoning goes back over the wire, and whether the server insists on it."""
    said = tried.called if tried.called and tried.called.reasoning else tried.first
    if said is None or not said.reasoning:
        tried.diagnosis.add("reasoning", "note", "the server returns none")
        return
    if tried.by_text or said is not tried.called:
        tried.diagnosis.add("reasoning", "note", "returned, and not needed in later turns")
        return
    tried.call(_turn(tried, _SAID), (READY,))
    sent = json.loads(tried.wire.chat.content)["messages"] if tried.wire.chat else []
    if said.reasoning[:40] not in json.dumps(sent, ensure_ascii=False).replace('\\"', '"'):
        tried.diagnosis.add("reasoning", "note", "not sent back: the model plays without its earlier reasoning")
        return
    try:
        tried.call(_turn(tried, _SAID, bare=True), (READY,))
        demanded = ""
    except Refused:
        demanded = "; the server insists on it"
    tried.diagnosis.add("reasoning", "yes", f"sent back in the next turn and accepted{demanded}")


def _accepts(tried: Examination, check: str, what: str, messages: Messages) -> None:
    """Add a row on whether the server takes this conversation."""
    if tried.by_text:
        tried.diagnosis.add(check, "not tried", "--protocol text sends no tool calls")
        return
    try:
        tried.call(messages, (READY,))
    except (Refused, SetupFault) as refusal:
        tried.diagnosis.add(check, "no", f"{what} is refused: {refusal}", protocol="text")
    else:
        tried.diagnosis.add(check, "yes", f"{what} is accepted")


def _turn(tried: Examination, content: str | None, *, calls: int = 1, bare: bool = False) -> Messages:
    """A conversation in which the tool was called and has answered; `bare`: without what else the server returned."""
    message: dict[str, Any] = {"role": "assistant"} if bare or tried.called is None else dict(tried.called.message)
    made = list((tried.called.message if tried.called else {}).get("tool_calls") or [])[:1]
    for number in range(len(made), calls):
        made.append({"id": f"ready{number}xyz", "type": "function", "function": {"name": "ready", "arguments": "{}"}})
    told = [{"role": "tool", "tool_call_id": call["id"], "content": "The tool is ready."} for call in made]
    return [*TOOL_PROBE, {**message, "content": content, "tool_calls": made}, *told]
