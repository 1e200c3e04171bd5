"""Bodies of chat completions in any shape, and a client that reads them over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness.agents.llm.model import ModelClient, ModelSettings
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Script, ScriptedReply, script

Json = dict[str, Any]

USAGE = {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57}
TOOLS = [{"type": "function", "function": {"name": "run", "description": "Runs.", "parameters": {"type": "object"}}}]
ASKED: list[Json] = [{"role": "user", "content": "Go."}]

PROVIDERS = pytest.mark.parametrize("prefix", ["openai", "deepseek", "hosted_vllm"])


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


def fault_of(status: int, message: str) -> Fault:
    """A refusal of every request."""
    return Fault(status=status, message=message, times=9)
