"""Checks of tool calls. Whatever a server refuses of them, `--protocol text` does without."""

from __future__ import annotations

from typing import Any

from harness.agents.doctor.examination import Examination, Messages
from harness.agents.llm.failures import Refused
from harness.agents.llm.probing import READY, TOOL_PROBE, tools_fault
from harness.errors import SetupFault

_TOKENS = 400
"""Output tokens in which a model may think and call a tool."""


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
        tried.add("tools seen", "no", str(fault), protocol="text")
        return
    tried.called = said
    if said.actions:
        tried.add("tools seen", "yes", "the model called the offered tool")
    elif said.usage.estimated:
        seen = "no call, and no token counts to show whether the model sees tools"
        tried.add("tools seen", "note", seen, "--protocol text, if episodes have no tool calls")
    else:
        tried.add("tools seen", "note", "the model sees the tool and did not call it")


def results(tried: Examination) -> None:
    """Send turns as they occur in an episode: a call and its result, a call without text, two calls at a time."""
    turns = {
        "tool results": ("the result of a tool call", _turn(tried)),
        "empty content": ("a tool call without text", _turn(tried, content=None)),
        "parallel calls": ("a turn with two tool calls", _turn(tried, calls=2)),
    }
    for check, (what, messages) in turns.items():
        if tried.called is None or "protocol" in tried.flags:
            tried.add(check, "not tried", "--protocol text sends no tool calls")
            continue
        try:
            tried.call(messages, (READY,))
            tried.add(check, "yes", f"{what} is accepted")
        except (Refused, SetupFault) as refusal:
            tried.add(check, "no", f"{what} is refused: {refusal}", protocol="text")


def reasoning(tried: Examination) -> None:
    """Look whether reasoning goes back over the wire, and whether the server insists on it."""
    if tried.called is None or not tried.called.reasoning or "protocol" in tried.flags:
        tried.add("reasoning", "note", "none is returned" if tried.called else "not needed in later turns")
        return
    if tried.call(_turn(tried), (READY,)).lost_reasoning:
        tried.add("reasoning", "note", "refused, or not sent back: the model plays without its earlier reasoning")
        return
    try:
        tried.call(_turn(tried, bare=True), (READY,))
        insists = ""
    except Refused:
        insists = "; the server insists on it"
    tried.add("reasoning", "yes", f"sent back in the next turn and accepted{insists}")


def _turn(tried: Examination, content: str | None = "I call it.", *, calls: int = 1, bare: bool = False) -> Messages:
    """A conversation in which the tool was called and has answered; `bare`: without what else the server returned."""
    said: dict[str, Any] = dict(tried.called.message) if tried.called else {}
    made = list(said.get("tool_calls") or [])[:1]
    for number in range(len(made), calls):
        made.append({"id": f"ready{number}xyz", "type": "function", "function": {"name": "ready", "arguments": "{}"}})
    told = [{"role": "tool", "tool_call_id": call["id"], "content": "The tool is ready."} for call in made]
    return [*TOOL_PROBE, {**({} if bare else said), "role": "assistant", "content": content, "tool_calls": made}, *told]
