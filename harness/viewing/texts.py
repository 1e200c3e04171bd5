"""Long texts as a page shows them: the beginning and the end, with the number of characters between, and short ones whole.

A model's reply may have 50 MB. What is cut stands whole in a file of the episode, which the page links.
"""

from __future__ import annotations

import json
from typing import Any

from worlds.core.models import Strict

LONGEST = 6_000
"""Characters of a text that is shown whole."""

_HEAD, _TAIL = 4_000, 1_500
LONGEST_GIST = 240
"""Characters of a text in a cell of a table."""


class CutText(Strict):
    """A text for a page: all of it, or its two ends with the number of characters that are left out between them."""

    head: str
    left_out: int = 0
    tail: str = ""

    @property
    def lines(self) -> int:
        """Lines as they are shown."""
        return self.head.count("\n") + self.tail.count("\n") + 1


def cut_text(text: str, most: int = LONGEST) -> CutText:
    """A text, without its middle where it is longer than `most` characters."""
    if len(text) <= most:
        return CutText(head=text)
    head, tail = most * _HEAD // LONGEST, most * _TAIL // LONGEST
    return CutText(head=text[:head], left_out=len(text) - head - tail, tail=text[-tail:])


def gist(text: str) -> str:
    """A reply in a line: of JSON what it says without its brackets, cut at the end where it is long."""
    told = text
    if text.lstrip().startswith(("{", "[")) and len(text) < LONGEST:
        try:
            told = _plain(json.loads(text))
        except (ValueError, RecursionError):
            told = text
    told = " ".join(told[: 4 * LONGEST_GIST].split())
    return told if len(told) <= LONGEST_GIST else told[: LONGEST_GIST - 1] + "…"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {told}" for name, inner in value.items() if (told := _plain(inner)))
    if isinstance(value, list):
        return " | ".join(filter(None, map(_plain, value)))
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
