"""Reasoning that goes back to a model: which fields of a message hold it, whether a request carries it, requests without it.

Servers name it `reasoning_content`, `reasoning`, `reasoning_details`, `thinking_blocks`, `thought_signature`, `extra_content`,
or write it as parts of the content. Many want it back unchanged; a few refuse it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.agents.llm.failures import ParameterRefused, Refused

NO_TEXT = "(no text)"
"""Content of a message that has neither text nor tool calls: some servers refuse an empty one."""

_FIELD = re.compile(r"reason|think|thought|signature|encrypted|extra_content|provider_specific")
_CONTAINERS = frozenset({"extra_content", "provider_specific_fields", "google"})
_LABELS = frozenset({"type", "format", "id", "index"})
_REFUSAL = re.compile(
    r"reasoning|thinking|thought|signature|extra (?:inputs|fields)|additional propert|unknown|unrecogni[sz]ed|unsupported|"
    r"unexpected|not (?:permitted|allowed)|extra_forbidden",
    re.IGNORECASE,
)


def reasoning_fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a message, or of a tool call, that hold reasoning."""
    return {name: value for name, value in message.items() if _FIELD.search(name) and value not in (None, [], {})}


def is_reasoning_part(part: Any) -> bool:
    """True for a part of a message's content that holds reasoning."""
    return isinstance(part, Mapping) and _FIELD.search(str(part.get("type"))) is not None


def carries_reasoning(messages: Sequence[Mapping[str, Any]]) -> bool:
    """True where a message of the model holds reasoning."""
    return any(True for message in messages for _ in _reasoning(message))


def without_reasoning(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages without reasoning."""
    return [_plain(message) if message["role"] == "assistant" else dict(message) for message in messages]


def has_arrived(sent: Any, messages: Sequence[Mapping[str, Any]]) -> bool:
    """True where the body of a request holds the latest reasoning in `messages`, or where either is not known."""
    latest = next((texts for message in reversed(messages) if (texts := list(_reasoning(message)))), [])
    if sent is None or not latest:
        return True
    try:
        body = json.dumps(json.loads(sent) if isinstance(sent, str) else sent, ensure_ascii=False, default=str)
    except ValueError:
        return True
    return all(json.dumps(text, ensure_ascii=False)[1:-1] in body for text in latest)


def refuses_reasoning(refusal: Refused) -> bool:
    """True where a refusal may be about reasoning, or about fields that a server does not know."""
    return refusal.status in {400, 422} and _REFUSAL.search(str(refusal)) is not None


class ReasoningSent:
    """Whether one model's provider takes the reasoning that is sent back to it."""

    def __init__(self, model: str, say_once: Callable[[str], None]) -> None:
        self._model, self._say_once, self._is_taken = model, say_once, True

    def sent(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages as the provider takes them."""
        return [dict(message) for message in messages] if self._is_taken else without_reasoning(messages)

    def leave_out(self, refusal: Refused, request: dict[str, Any]) -> bool:
        """Take the reasoning out of a request that was refused for it; False where there is none, or it is not about that."""
        is_parameter = isinstance(refusal, ParameterRefused) or re.search("temperature|logprobs", str(refusal))
        if is_parameter or not refuses_reasoning(refusal) or not carries_reasoning(request["messages"]):
            return False
        request["messages"] = without_reasoning(request["messages"])
        return True

    def is_lost(self, messages: Sequence[Mapping[str, Any]], sent: Sequence[Mapping[str, Any]], body: Any) -> bool:
        """True where an answered request did not carry the reasoning in `messages`; says so, and remembers a refusal."""
        if not carries_reasoning(messages):
            return False
        if not carries_reasoning(sent):
            self._is_taken = False
            self._say_once(f"{self._model} refuses its earlier reasoning: sent without it, episodes are marked")
        elif has_arrived(body, messages):
            return False
        else:
            self._say_once(f"{self._model}: LiteLLM does not send its earlier reasoning back, episodes are marked")
        return True


def _reasoning(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield each text of reasoning in a message of the model."""
    if message.get("role") != "assistant":
        return
    parts = content if isinstance(content := message.get("content"), list) else ()
    yield from (text for part in parts if is_reasoning_part(part) for text in _texts(part))
    for holder in (message, *(message.get("tool_calls") or ())):
        for name, value in reasoning_fields(holder).items():
            yield from _texts({name: value} if name in _CONTAINERS else value, is_reasoning=name not in _CONTAINERS)


def _texts(value: Any, *, is_reasoning: bool = True) -> Iterator[str]:
    """Yield the texts in a value; outside of reasoning only those under a name that says reasoning."""
    if isinstance(value, str):
        yield from [value] if is_reasoning and value.strip() else ()
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _LABELS:
                is_named = name not in _CONTAINERS and _FIELD.search(name) is not None
                yield from _texts(inner, is_reasoning=is_reasoning or is_named)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, is_reasoning=is_reasoning)


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in message.items() if name not in reasoning_fields(message)}
    if isinstance(content := message.get("content"), list):
        plain["content"] = [part for part in content if not is_reasoning_part(part)] or None
    if calls := message.get("tool_calls"):
        plain["tool_calls"] = [{name: call[name] for name in ("id", "type", "function")} for call in calls]
    elif not plain.get("content"):
        plain["content"] = NO_TEXT
    return plain
