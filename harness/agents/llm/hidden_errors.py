"""Errors that servers report inside an answer with HTTP 200, and JSON answers that are no completion."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from harness.agents.llm.error_body import ErrorBody, read_error
from harness.printable import encodable

_STATUS_OF = (
    ("authentication", 401), ("api_key", 401), ("permission", 403), ("not_found", 404), ("rate_limit", 429),
    ("overloaded", 529), ("exceed_context_size", 400), ("invalid", 400), ("validation", 400), ("badrequest", 400),
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
    if not isinstance(value, Mapping):
        return None
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    error = value.get("error") or first.get("error")
    if not error:
        return None
    body = read_error(error)
    # some servers put the type beside the sentence, not below it
    body = body._replace(codes=body.codes | {str(value[key]) for key in ("type", "error_type", "code") if value.get(key)})
    return HiddenError(_status(error, body), body)


def not_a_completion(value: Any, clean: Callable[[str], str]) -> str:
    """Return the message about a JSON answer that LiteLLM could not read; `clean` removes secrets."""
    said = read_error(value).line or json.dumps(value)
    return f"it answered with JSON that is no completion: {encodable(clean(said)[:_SHOWN])}"


def _status(error: Any, body: ErrorBody) -> int:
    codes = [str(error.get(key)) for key in ("code", "status", "status_code")] if isinstance(error, Mapping) else []
    numbers = [int(code) for code in codes if code.isdigit() and 400 <= int(code) <= 599]
    words = " ".join(body.codes).lower()
    return next(iter(numbers), next((status for part, status in _STATUS_OF if part in words), _ASSUMED_STATUS))
