"""The answer to one model call: as the server wrote it where its API is OpenAI's, else as LiteLLM translated it.

LiteLLM renames fields of a message, drops some, and raises at what it does not expect, so the server's own words come first.
A failure that a server reports inside an answer with status 200 is raised here as a failure of the provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from harness.agents.llm.failures import Crowded, Refused, Transient
from harness.printable import encodable

_FAILED = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_WITHHELD = frozenset(
    {"content_filter", "content_filtered", "sensitive", "safety", "guardrail_intervened", "prohibited_content"}
)
_MAY_PASS = frozenset({408, 409, 425, 429})
_SHOWN = 300


class WireAnswer(NamedTuple):
    """The answer to one call."""

    response: Any
    """As LiteLLM translated it; None where it could not."""

    body: Mapping[str, Any]
    """A chat completion in OpenAI's shape."""

    sent: Any
    """The body of the request, None where it is not known."""

    @property
    def choice(self) -> Mapping[str, Any]:
        """The choice that counts."""
        choice = _choice(self.body)
        assert choice is not None, "an answer without a choice is a failure"
        return choice

    @property
    def finish_reason(self) -> str:
        """Why the model stopped, in OpenAI's words where there is one for it."""
        said = self.choice.get("finish_reason")
        reason = str(encodable(said)) if isinstance(said, str) and said else "stop"
        return "length" if reason.lower() in _CUT_OFF else "content_filter" if reason.lower() in _WITHHELD else reason


class Wire:
    """Bodies of one call, taken from LiteLLM's log function."""

    def __init__(self) -> None:
        self.sent: Any = None
        self.body: Mapping[str, Any] | None = None

    def __call__(self, details: Mapping[str, Any]) -> None:
        """Take the body that `details` hold."""
        if details.get("log_event_type") == "pre_api_call":
            self.sent = (details.get("additional_args") or {}).get("complete_input_dict")
        elif self.body is None:
            self.body = _chat_completion(details.get("original_response"))

    @property
    def is_readable(self) -> bool:
        """True for a chat completion without an error of its own."""
        return self.body is not None and not self.body.get("error")

    def answer(self, response: Any) -> WireAnswer:
        """Return the answer; `response` is LiteLLM's translation, None where it has none."""
        choice = None if self.body is None else _choice(self.body)
        if self.body is not None and (response is None or (choice is not None and "message" in choice)):
            return WireAnswer(response, self.body, self.sent)
        return WireAnswer(response, response.model_dump(exclude_none=True), self.sent)


def raise_failure(body: Mapping[str, Any], clean: Callable[[str], str]) -> None:
    """Raise Transient or Refused for an answer that reports a failure of the provider; `clean` blanks secrets."""
    choice = _choice(body)
    if choice is None:
        raise Transient("it answered without a choice")
    error, reason = choice.get("error"), choice.get("finish_reason")
    if error or (isinstance(reason, str) and reason.lower() in _FAILED):
        told = error.get("message") if isinstance(error, Mapping) else error
        words = clean(" ".join(str(encodable(str(told))).split())[:_SHOWN]) if told else "without a word of why"
        status = error.get("code") if isinstance(error, Mapping) else None
        message = f"its answer failed (finish reason {reason or 'none'}): {words}"
        if isinstance(status, int) and 400 <= status < 500 and status not in _MAY_PASS:
            raise Refused(message, status)
        raise (Crowded if status == 429 else Transient)(message)
    if not isinstance(choice.get("message"), Mapping):
        raise Transient("it answered without a message")


def _chat_completion(text: Any) -> Mapping[str, Any] | None:
    """Return a body in OpenAI's shape, None for any other."""
    try:
        body = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and "choices" in body else None


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first choice that says something, else the first."""
    listed = body.get("choices")
    choices = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, Sequence) else []
    return next(filter(_says_something, choices), choices[0] if choices else None)


def _says_something(choice: Mapping[str, Any]) -> bool:
    message = choice.get("message")
    fields = ("content", "tool_calls", "function_call", "refusal")
    return isinstance(message, Mapping) and any(message.get(name) for name in fields)
