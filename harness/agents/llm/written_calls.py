"""Tool calls that stand in a reply as text, because the server has no parser for the form in which its model writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_MARK = re.compile(
    r"<tool_call|\[TOOL_CALLS\]|<function[=_]|<invoke |<\|python_tag\|>|<\|tool_calls?_?|<\uff5ctool\u2581call|to=functions\.|"
    r"functools\[|✿FUNCTION✿|<\|action_start\|>"
)
_FENCE = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)
_ARGUMENTS = frozenset({"arguments", "parameters", "args", "input"})


def is_written_call(text: str, tools: Sequence[Mapping[str, Any]]) -> bool:
    """True for a text that calls one of the tools: after a mark of a model's own, as bare JSON, or as code."""
    names = [str(tool["function"]["name"]) for tool in tools]
    fenced = _FENCE.fullmatch(text)
    body = (fenced[1] if fenced else text).strip()
    if (mark := _MARK.search(text)) and any(name in text[mark.end() :] for name in names):
        return True
    if any(re.match(rf"\[?\s*{re.escape(name)}\(", body) for name in names):
        return True
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return any(_calls(one, names) for one in (value if isinstance(value, list) else [value]))


def _calls(value: Any, names: Sequence[str]) -> bool:
    """True for an object that names a tool and has arguments for it."""
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    if isinstance(inner, dict):
        return _calls(inner, names)
    named = (value.get("name"), value.get("tool"), value.get("tool_name"), inner)
    return bool(_ARGUMENTS & set(value)) and any(isinstance(name, str) and name in names for name in named)
