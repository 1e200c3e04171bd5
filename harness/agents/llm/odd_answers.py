"""Answers with HTTP 200 that are not plain completions: an error inside, or a shape that LiteLLM cannot read."""

from __future__ import annotations

import json
import math
from types import ModuleType
from typing import Any, NamedTuple

from harness.agents.llm.error_body import ErrorBody, read_error
from harness.agents.llm.failures import CallFailure, Refused, Transient

_STATUS_OF = (
    ("authentication", 401), ("api_key", 401), ("permission", 403), ("not_found", 404), ("rate_limit", 429), ("overloaded", 529),
    ("exceed_context_size", 400), ("invalid", 400), ("validation", 400), ("badrequest", 400),
)  # fmt: skip
"""Part of a code or type -> the HTTP status that should have been sent."""

_ASSUMED_STATUS = 502
_SHOWN = 200


class HiddenError(NamedTuple):
    """An error in the body of an answer with HTTP 200."""

    status: int
    """As the body has it; else as its words mean it, and 502 where they mean nothing."""

    body: ErrorBody


def hidden_error(value: Any) -> HiddenError | None:
    """Return the error that a JSON answer carries at its top or in its first choice, or None."""
    if not isinstance(value, dict):
        return None
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    error = value.get("error") or first.get("error")
    if not error:
        return None
    body = read_error(error)
    # some servers put the type beside the sentence, not below it
    body = body._replace(codes=body.codes | {str(value[key]) for key in ("type", "error_type", "code") if value.get(key)})
    return HiddenError(_status(error, body), body)


def unreadable(value: Any) -> CallFailure:
    """Return the failure of a JSON answer of which no response can be made."""
    if isinstance(value, dict) and "choices" in value:
        return Transient("it answered without a message that can be read" if value["choices"] else "it answered without a choice")
    said = read_error(value).line or json.dumps(value)
    return Refused(f"it answered with JSON that is no completion: {said[:_SHOWN]}")


def readable_response(litellm: ModuleType, value: Any) -> Any | None:
    """Return the LiteLLM response of an answer that LiteLLM could not read itself, or None where it is no completion.

    Content that is a list of parts becomes their text, and numbers of tokens become whole numbers.
    """
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list) or not value["choices"]:
        return None
    try:
        plain = {**value, "choices": [_plain_choice(choice) for choice in value["choices"]]}
        if "usage" in plain:
            plain["usage"] = _plain_usage(plain["usage"])
        convert = litellm.litellm_core_utils.llm_response_utils.convert_dict_to_response.convert_to_model_response_object
        return convert(response_object=plain, model_response_object=litellm.ModelResponse())
    except Exception:  # noqa: BLE001 - LiteLLM has many ways of not reading a body
        return None


def has_negative_usage(usage: Any) -> bool:
    """Return True for a report of tokens with a number below zero."""
    named = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    return any(isinstance(number, int | float) and number < 0 for number in named)


def _status(error: Any, body: ErrorBody) -> int:
    codes = [str(error.get(key)) for key in ("code", "status", "status_code")] if isinstance(error, dict) else []
    numbers = [int(code) for code in codes if code.isdigit() and 400 <= int(code) <= 599]
    words = " ".join(body.codes).lower()
    return next(iter(numbers), next((status for part, status in _STATUS_OF if part in words), _ASSUMED_STATUS))


def _plain_choice(choice: dict[str, Any]) -> dict[str, Any]:
    message = dict(choice["message"])
    if isinstance(message.get("content"), list):
        parts = [part if isinstance(part, str) else part.get("text") for part in message["content"]]
        message["content"] = "".join(part for part in parts if isinstance(part, str))
    return {"finish_reason": "stop", "index": 0, **choice, "message": message}


def _plain_usage(usage: Any) -> dict[str, Any] | None:
    """Whole numbers of tokens, and None where one of them is no number."""
    if not isinstance(usage, dict):
        return None
    try:
        counts = {name: float(usage[name]) for name in ("prompt_tokens", "completion_tokens")}
    except (KeyError, TypeError, ValueError):
        return None
    if not all(math.isfinite(count) and count >= 0 for count in counts.values()):
        return None
    whole = {name: math.ceil(count) for name, count in counts.items()}
    return {**whole, "total_tokens": sum(whole.values())}
