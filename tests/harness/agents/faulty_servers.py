"""Servers with one fault each, behind which a model plays a contract task perfectly where the fault lets it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from harness.paths import ROOT
from harness.registry import read_task
from parley.testing import openai_server
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import DONE, SolutionModel
from parley.testing.scripts import ScriptedCall, ScriptedReply

TASK = "presigned-url-download"
_HEADING = "# Download a file in three parts"
Body = Mapping[str, Any]
Refusal = tuple[int, str] | None


def accepts(body: Body) -> Refusal:
    """Refuse nothing."""
    return None


@dataclass(frozen=True)
class Planted:
    """One fault, and what the doctor must say of it."""

    check: str
    verdict: str
    flags: tuple[str, ...] = ()
    """Words that the printed command must hold."""

    refuses: Callable[[Body], Refusal] = accepts
    shows_tools: bool = True
    parses_calls: bool = True
    counts: bool = True
    reasons: bool = False
    at_once: int = 99
    token_s: float = 0.0
    key: str | None = None
    model: str = ""
    context: int = 0
    """As the list of models says; 0 where it does not."""

    path: str = "/v1"
    """Of the address that is typed."""

    typed: tuple[str, ...] = ()
    """Flags that are typed beside the printed ones, so that the run meets the fault."""

    works: bool = True
    """Whether a run works with what the doctor prints."""


class FaultyServer(OpenAIServer):
    """A model that plays one task right, behind a fault."""

    def __init__(self, fault: Planted) -> None:
        super().__init__()
        self.fault, self._under_way = fault, 0
        task = read_task(ROOT / "tasks/contract" / TASK)
        self._player = SolutionModel([task], lambda *_: "solve", "tool")

    async def _models(self) -> Response:
        told = {"max_model_len": self.fault.context} if self.fault.context else {}
        return openai_server._json(200, {"data": [{"id": self.fault.model or "any", **told}]})

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        self._under_way += 1
        try:
            return await self._answer(request, body)
        finally:
            self._under_way -= 1

    async def _answer(self, request: Request, body: Body) -> Response:
        fault = self.fault
        if fault.key and request.headers.get("authorization") != f"Bearer {fault.key}":
            return openai_server._refused(401, "Incorrect API key provided.")
        if fault.model and body["model"] != fault.model:
            return openai_server._refused(404, f"The model `{body['model']}` does not exist.")
        if self._under_way > fault.at_once:
            return openai_server._refused(429, "Too many concurrent requests for this model")
        if refusal := fault.refuses(body):
            return openai_server._refused(*refusal)
        await asyncio.sleep(0.1 if fault.at_once < 99 else 0)
        reply = self.reply(body)
        whole = openai_server._completion(reply, body["model"], body["messages"], 0)
        if fault.counts:
            whole["usage"]["prompt_tokens"] = prompt_tokens(body, tools=fault.shows_tools)
            is_long = "Count from 1" in str(body["messages"])
            await asyncio.sleep(whole["usage"]["completion_tokens"] * fault.token_s if is_long else 0)
        return openai_server._json(200, whole)

    def reply(self, body: Body) -> ScriptedReply:
        """What the model says; calls become text where the server does not parse them, or the prompt asks for text."""
        said = self._said(body)
        usage = {} if self.fault.counts else {"usage": "none"}
        if self.fault.reasons:
            usage["reasoning"] = "I have thought about it."
        if not self.fault.parses_calls and said.tool_calls:
            call = said.tool_calls[0]
            text = f'<tool_call>\n{{"name": "{call.name}", "arguments": {json.dumps(call.arguments)}}}\n</tool_call>'
            return ScriptedReply(text=text, **usage)
        return said.model_copy(update=usage)

    def _said(self, body: Body) -> ScriptedReply:
        messages, sees_tools = body["messages"], self.fault.shows_tools and "tools" in body
        text = "\n".join(str(message.get("content")) for message in messages if message["role"] in {"system", "user"})
        if "Count from 1" in text:
            return ScriptedReply(text="1 2 3 4")
        if _HEADING not in text:
            calls = "Call the tool" in text and sees_tools and messages[-1]["role"] != "tool"
            return ScriptedReply(tool_calls=(ScriptedCall(name="ready"),)) if calls else ScriptedReply(text="ready")
        if '{"tool": "NAME"' in text:
            return as_text(self._played(messages))
        return self._played(messages) if sees_tools else ScriptedReply(text="I have no tools.")

    def _played(self, messages: list[dict[str, Any]]) -> ScriptedReply:
        instruction = next(text[text.index(_HEADING) :] for m in messages if _HEADING in (text := str(m.get("content"))))
        told = [re.sub(r"\AAnswer of \w+:\n", "", str(m.get("content"))) for m in messages
                if m["role"] == "tool" or str(m.get("content")).startswith("Answer of ")]  # fmt: skip
        played = self._player([{"role": "user", "content": instruction}, *({"role": "tool", "content": one} for one in told)])
        return ScriptedReply(text=played) if isinstance(played, str) else played.model_copy(update={"text": None})


def as_text(reply: ScriptedReply) -> ScriptedReply:
    """A reply with its call as a fenced block."""
    if not reply.tool_calls:
        return ScriptedReply(text=DONE)
    call = reply.tool_calls[0]
    return ScriptedReply(text=f"```json\n{json.dumps({'tool': call.name, 'arguments': call.arguments})}\n```")


def prompt_tokens(body: Body, *, tools: bool = True) -> int:
    """About four characters a token."""
    return len(json.dumps([body["messages"], body.get("tools", []) if tools else []])) // 4


def _roles(body: Body) -> list[str]:
    return [message["role"] for message in body["messages"]]


def _assistant(body: Body) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


def when(condition: Callable[[Body], object], message: str, status: int = 400) -> Callable[[Body], Refusal]:
    """A server that refuses requests of one kind."""
    return lambda body: (status, message) if condition(body) else None


TEXT = ("--protocol", "text")
NO_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
TOO_LONG = "This model's maximum context length is 2048 tokens. However, your messages resulted in more."
FAULTS: dict[str, Planted] = {
    "ignores tools": Planted("tools seen", "no", TEXT, shows_tools=False),
    "returns calls as text": Planted("tools seen", "no", TEXT, parses_calls=False),
    "refuses tools": Planted("tools seen", "no", TEXT, when(lambda body: "tools" in body, NO_PARSER)),
    "refuses tool results": Planted(
        "tool results", "no", TEXT, when(lambda body: "tool" in _roles(body), "Unexpected role 'tool'")
    ),
    "refuses a second tool message": Planted(
        "parallel calls", "no", TEXT,
        when(lambda body: any(len(m.get("tool_calls") or ()) > 1 for m in _assistant(body)), "single tool-calls only"),
    ),
    "demands reasoning back": Planted(
        "reasoning", "yes", (),
        when(lambda body: any(not m.get("reasoning_content") for m in _assistant(body)), "reasoning_content is missing"),
        reasons=True,
    ),
    "refuses empty content": Planted(
        "empty content", "yes", (),
        when(lambda body: any(m.get("content") == "" for m in _assistant(body)), "text content must be non-empty"),
    ),
    "refuses the system role": Planted(
        "system role", "note", (), when(lambda body: "system" in _roles(body), "System role not supported")
    ),
    "refuses temperature": Planted(
        "temperature", "no", ("--temperature", "default"),
        when(lambda body: "temperature" in body, "Unsupported value: 'temperature' does not support 0.0 with this model."),
    ),
    "refuses max_tokens": Planted(
        "output limit", "note", (),
        when(lambda body: "max_tokens" in body, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        typed=("--reply-tokens", "900"),
    ),
    "answers one call at a time": Planted("concurrency", "no", ("--workers", "1"), at_once=1, typed=("--k", "3")),
    "counts no tokens": Planted("usage", "note", counts=False),
    "writes ten tokens a second": Planted("speed", "note", ("--timeout", "--wall"), token_s=0.1),
    "has another model": Planted("model", "no", ("--model", "openai/qwen3-8b"), model="qwen3-8b"),
    "is at another address": Planted("address", "no", ("--api-base",), path=""),
    "cuts long prompts": Planted("overflow", "no", ("--context", "8192"), context=8192),
    "has a context of 2k": Planted(
        "context size", "no", (), when(lambda body: prompt_tokens(body) > 2048, TOO_LONG), works=False
    ),
    "wants another key": Planted("key and model", "no", key="sk-another", works=False),
}  # fmt: skip
"""By name; a verdict of "yes" or "note" without flags means that a run works around the fault."""
