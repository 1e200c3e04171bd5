"""A model's reply as JSON, read as tolerantly as can be done without guessing what was meant, and never raising.

What was needed to read it is kept beside it: `strict` (JSON as it stands), `fenced` (in a code fence), `repaired` (by
json_repair, which mends what models break: quotes, commas, text around), or `failed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, Literal, NamedTuple

import json_repair
from pydantic_core import from_json, to_json

How = Literal["strict", "fenced", "repaired", "failed"]
_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)
_REPAIRABLE, _OPENINGS = 64 * 1024, 256
"""Characters and brackets that open; what has more is no reply that was merely broken, and mending it takes minutes."""

_THOUGHT = re.compile(r"\A\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair."""

PASS = "PASS"
"""The reply of who says nothing in a free talk; an empty one means the same."""

_DEEPEST = 64
"""Levels of nesting; a log is read by a parser that gives up at about two hundred."""


class Parsed(NamedTuple):
    """The object or list in a reply, None where there is none, and how it was found."""

    value: dict[str, Any] | list[Any] | None
    how: How


def parse_reply(text: str, *, strict: bool = False) -> Parsed:
    """Read a reply; with `strict` nothing is repaired. What stands in think tags before it is no part of it."""
    text = without_thoughts(text)
    if (value := _loaded(text)) is not None:
        return Parsed(value, "strict")
    if (fence := _FENCE.search(text)) and (value := _loaded(fence[1])) is not None:
        return Parsed(value, "fenced")
    if not strict and len(text) <= _REPAIRABLE and 0 < _openings(text) <= _OPENINGS and (value := _mended(text)) is not None:
        return Parsed(value, "repaired")
    return Parsed(None, "failed")


def without_thoughts(text: str) -> str:
    """A reply less what stands in think tags before it."""
    return _THOUGHT.sub("", text)


def spoken(reply: str) -> str:
    """What others hear of a reply in a free talk: nothing of one that passes."""
    said = without_thoughts(reply).strip()
    return "" if said == PASS else said


def _openings(text: str) -> int:
    return text.count("[") + text.count("{")


def _loaded(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that a text is, if a log can hold it."""
    try:
        value = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):
        # a TypeError says that the text itself holds half a surrogate pair
        return None
    if not isinstance(value, dict | list):
        return None
    # both are quick: no text nests deeper than it has brackets, and what is beyond the largest number is written like this
    if (_openings(text) >= _DEEPEST or b"Infinity" in to_json(value)) and not _loggable(value):
        return None
    return value


def _mended(text: str) -> dict[str, Any] | list[Any] | None:
    try:
        value = json_repair.loads(text, skip_json_loads=True)
        return value if isinstance(value, dict | list) and _loggable(value) else None
    except (ValueError, RecursionError, IndexError, TypeError, AttributeError):
        return None


def _loggable(value: Any) -> bool:
    """Whether a log can hold a value: not too deep, all of it numbers and characters that JSON has."""
    inside, levels = [value], _DEEPEST
    while inside and levels:
        if not all(map(_sayable, inside)):
            return False
        inside = [inner for one in inside for inner in _inner(one)]
        levels -= 1
    return not inside


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else ()


def _sayable(value: Any) -> bool:
    if isinstance(value, str):
        return not _HALF.search(value)
    return not isinstance(value, float) or isfinite(value)
