"""Repair of broken JSON in replies, for worlds and the harness; validators take a repaired answer from the log's notes."""

from __future__ import annotations

from typing import Any

import json_repair

from worlds.core.replies import Reading, Shape, read_answer
from worlds.core.reply_parts import is_loggable, load, with_whole_characters


def read_reply(reply: str, shape: Shape, *, strict: bool = False) -> Reading:
    """Return the answer in a reply; with `strict` nothing is repaired."""
    return read_answer(reply, shape, None if strict else mend)


_QUOTES = str.maketrans("“”", '""')
"""Typographic quotes -> those of JSON."""


def mend(text: str) -> Any:
    """Return the object or list that a broken JSON text was meant to be; None if it cannot be repaired."""
    if '"' not in text and (value := load(text.translate(_QUOTES))) is not None:
        return value
    try:
        value = json_repair.loads(text, skip_json_loads=True)
        return with_whole_characters(value) if isinstance(value, dict | list) and is_loggable(value) else None
    except (ValueError, RecursionError, IndexError, TypeError, AttributeError):
        return None
