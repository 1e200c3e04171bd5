"""A reply that means the same to everybody: JSON as it stands or in a fence, of a depth and with characters a log can hold.

The world reads more than this, since it mends what models break; here nothing is mended, so nothing is guessed.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json, to_json

DEEPEST = 64
"""Levels of nesting beyond which no reply is read."""


_THOUGHT = re.compile(r"\A\s*<(think|thinking)>.*?</\1>\s*", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)


def plainly(reply: str) -> tuple[dict[str, Any] | list[Any] | None, str]:
    """The object or list that a reply is, or that its first fence holds, and which: `strict`, `fenced`, or nothing of both.

    What stands in think tags before it is no part of a reply.
    """
    reply = without_thoughts(reply)
    if (value := _loaded(reply)) is not None:
        return value, "strict"
    if (fence := _FENCE.search(reply)) and (value := _loaded(fence[1])) is not None:
        return value, "fenced"
    return None, ""


def without_thoughts(reply: str) -> str:
    """A reply less what stands in think tags before it."""
    return _THOUGHT.sub("", reply)


def _loaded(reply: str) -> dict[str, Any] | list[Any] | None:
    try:
        value = from_json(reply, allow_inf_nan=False)
        brackets = reply.count("[") + reply.count("{")
        if not isinstance(value, dict | list) or (brackets >= DEEPEST and _deeper(value, DEEPEST)):
            return None
        if b"Infinity" in to_json(value):
            # the text of a reply may hold the word; a number that is written so is none
            json.dumps(value, allow_nan=False)
    except (ValueError, TypeError):
        return None
    return value


def _deeper(value: Any, levels: int) -> bool:
    inside = [value]
    while inside and levels:
        inside = [
            inner
            for outer in inside
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        levels -= 1
    return bool(inside)
