"""Repair of broken JSON in replies, for worlds and the harness; validators read the repaired answer from the log's notes."""

from __future__ import annotations

import re
from typing import Any

import json_repair

from worlds.core.replies import AnswerShape, ReadAnswer, is_loggable, load_json, read_answer, replace_surrogates


def read_reply(reply: str, shape: AnswerShape, *, strict: bool = False) -> ReadAnswer:
    """Return the answer in a reply; with `strict`, broken JSON is not repaired."""
    return read_answer(reply, shape, None if strict else mend)


_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*+"|(?<![:\w])//[^\n]*+|/\*.*?\*/', re.DOTALL)
"""A string, which is left unchanged, or a comment."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_QUOTES = str.maketrans("“”", '""')
"""Typographic quotes -> JSON quotes."""


def mend(text: str) -> Any:
    """Return the object or list that a broken JSON text was meant to be; None if it cannot be repaired as a whole."""
    text = _COMMENT.sub(lambda match: match[0] if match[0].startswith('"') else "", text)
    if (value := load_json(text if '"' in text else text.translate(_QUOTES))) is not None:
        return value
    try:
        value = json_repair.loads(text, skip_json_loads=True)
        counts = {(one.count("{"), one.count("[")) for one in (text, _STRING.sub("", text))}
        is_whole = _brackets(value) in counts
        return replace_surrogates(value) if is_whole and isinstance(value, dict | list) and is_loggable(value) else None
    except (ValueError, RecursionError, IndexError, TypeError, AttributeError):
        return None


def _brackets(value: Any) -> tuple[int, int]:
    """Return the numbers of objects and lists in a value; a repair that loses one has dropped part of the reply."""
    inside = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    counts = [_brackets(one) for one in inside]
    own = isinstance(value, dict), isinstance(value, list)
    return own[0] + sum(one[0] for one in counts), own[1] + sum(one[1] for one in counts)
