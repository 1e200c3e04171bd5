"""A model's reply as JSON, read as tolerantly as can be done without guessing what was meant, and never raising.

What was needed to read it is kept beside it: `strict` (JSON as it stands), `fenced` (in a code fence), `repaired` (by
json_repair, which mends what models break: quotes, commas, text around), or `failed`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

import json_repair

How = Literal["strict", "fenced", "repaired", "failed"]
_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)
_REPAIRABLE, _OPENINGS = 64 * 1024, 256
"""Characters and brackets that open; what has more is no reply that was merely broken, and mending it takes minutes."""

_DEEPEST = 64
"""Levels of nesting; a log is read by a parser that gives up at about two hundred."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The object or list in a reply, None where there is none, and how it was found."""

    value: dict[str, Any] | list[Any] | None
    how: How


def parse_reply(text: str, *, strict: bool = False) -> Parsed:
    """Read a reply; with `strict` nothing is repaired."""
    if (value := _loaded(text)) is not None:
        return Parsed(value, "strict")
    if (fence := _FENCE.search(text)) and (value := _loaded(fence[1])) is not None:
        return Parsed(value, "fenced")
    if not strict and len(text) <= _REPAIRABLE and 0 < _openings(text) <= _OPENINGS and (value := _mended(text)) is not None:
        return Parsed(value, "repaired")
    return Parsed(None, "failed")


def _openings(text: str) -> int:
    return text.count("[") + text.count("{")


def _loaded(text: str) -> dict[str, Any] | list[Any] | None:
    try:
        value = json.loads(text, parse_constant=_refused)
        # counting is quick, and no text nests deeper than it has brackets
        shallow = _openings(text) < _DEEPEST
        return _loggable(value, shallow=shallow)
    except (ValueError, RecursionError):
        return None


def _mended(text: str) -> dict[str, Any] | list[Any] | None:
    try:
        return _loggable(json_repair.loads(text, skip_json_loads=True))
    except (ValueError, RecursionError, IndexError, TypeError, AttributeError):
        return None


def _loggable(value: Any, *, shallow: bool = False) -> dict[str, Any] | list[Any] | None:
    """The value, if it is an object or a list that a log can hold; raises ValueError for half a surrogate pair."""
    if not isinstance(value, dict | list) or (not shallow and _deeper(value, _DEEPEST)):
        return None
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def _deeper(value: Any, levels: int) -> bool:
    """Whether a value is nested more deeply than this."""
    inside = [value]
    while inside and levels:
        inside = [
            inner
            for one in inside
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        levels -= 1
    return bool(inside)


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
