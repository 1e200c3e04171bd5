"""Reader of the bodies in which servers explain an error: structured codes and sentences.

Only fields that hold the server's own words are read. Many servers also echo the request, and a conversation may contain
any sentence at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_CODE_KEYS = frozenset({"code", "type", "__type", "status", "reason", "error_code", "error_type", "errorType", "name"})
_SENTENCE_KEYS = frozenset({
    "message", "msg", "error", "detail", "details", "errorMessage", "error_message", "error_description", "description", "raw",
})  # fmt: skip
_CONTAINER_KEYS = _SENTENCE_KEYS | {"errors", "metadata", "innererror", "inner_error", "body", "response"}
_LONGEST = 100_000
"""Characters of a body that are read."""

_PAGE = re.compile(r"<!doctype html|<html[\s>]", re.IGNORECASE)
_CAUSE_LINE = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b)")
"""A line that names an exception, as the last line of a traceback does."""


class ErrorBody(NamedTuple):
    """What a body says about an error."""

    codes: frozenset[str] = frozenset()
    """Values of fields such as `code` and `type`."""

    sentences: tuple[str, ...] = ()
    """The server's messages, outermost first."""

    is_page: bool = False
    """True for a web page."""

    @property
    def text(self) -> str:
        """All messages and codes in one string, to search in."""
        return "\n".join((*self.sentences, *self.codes))

    @property
    def line(self) -> str:
        """The informative line of each message, in one line; "" where the body says nothing."""
        lines = dict.fromkeys(filter(None, map(informative_line, self.sentences)))
        return ": ".join(line for line in lines if not any(line != other and line in other for other in lines))


def read_error_body(text: str) -> ErrorBody:
    """Read a body of JSON, plain text or HTML."""
    text = text[:_LONGEST].strip()
    if _PAGE.search(text):
        return ErrorBody(is_page=True)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ErrorBody(sentences=(text,) if text else ())
    return _read(value)


def read_error(value: Any) -> ErrorBody:
    """Read the value of an `error` field."""
    return _read({"error": value})


def informative_line(text: str) -> str:
    """Return the line of a message that tells the cause: the last one that names an exception, else the first with words."""
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if _CAUSE_LINE.match(line) and ":" in line]
    return named[-1] if named else next((line for line in lines if re.search(r"\w", line)), "")


def _read(value: Any) -> ErrorBody:
    fields = list(_fields(value, depth=0))
    codes = frozenset(str(one) for is_code, one in fields if is_code)
    return ErrorBody(codes, tuple(dict.fromkeys(one for is_code, one in fields if not is_code)))


def _fields(value: Any, depth: int) -> Iterator[tuple[bool, str]]:
    """Codes (True) and sentences (False) of a value, at most eight levels deep."""
    if depth > 8:
        return
    if isinstance(value, list):
        for one in value:
            yield from _fields(one, depth + 1)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in _CODE_KEYS and isinstance(one, str):
                yield True, one
            elif key in _SENTENCE_KEYS and isinstance(one, str):
                yield from _sentence(one, depth)
            elif key in _CONTAINER_KEYS and isinstance(one, dict | list):
                yield from _fields(one, depth + 1)


def _sentence(text: str, depth: int) -> Iterator[tuple[bool, str]]:
    """One message; a proxy often puts the whole body of the server behind it into its own message."""
    try:
        inner = json.loads(text) if text.lstrip()[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        inner = None
    fields = list(_fields(inner, depth + 1))
    yield from fields or ([(False, text)] if text.strip() else [])
