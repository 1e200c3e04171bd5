"""A reply that means the same to everybody: JSON as it stands or in a fence, of a depth and with characters a log can hold.

The world reads more than this, since it mends what models break; here nothing is mended, so nothing is guessed.
"""

from __future__ import annotations

import json
import re
from typing import Any

DEEPEST = 64
"""Levels of nesting beyond which no reply is read."""


_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)


def plainly(reply: str) -> tuple[dict[str, Any] | list[Any] | None, str]:
    """The object or list that a reply is, or that its first fence holds, and which: `strict`, `fenced`, or nothing of both."""
    if (value := _loaded(reply)) is not None:
        return value, "strict"
    if (fence := _FENCE.search(reply)) and (value := _loaded(fence[1])) is not None:
        return value, "fenced"
    return None, ""


def _loaded(reply: str) -> dict[str, Any] | list[Any] | None:
    try:
        value = json.loads(reply, parse_constant=_refused)
        if not isinstance(value, dict | list) or _deeper(value, DEEPEST):
            return None
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _deeper(value: Any, levels: int) -> bool:
    inside = [value]
    for _ in range(levels):
        inside = [
            inner
            for outer in inside
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(inside)


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
