"""An anchor is a long random string in the instruction; requests must carry a slice of it, which no endpoint serves.

It exercises transport from prompt to request. A slice is named by a 1-indexed inclusive range, or as the characters after a
marker that occurs exactly once. The slice itself is never printed.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.core.chance import Stream

SLICE = 24
"""Characters in a slice."""

TAIL = 8
"""Characters of a token that a proof carries."""


@dataclass(frozen=True)
class Anchor:
    """The whole string, as the instruction prints it."""

    text: str

    def chars(self, first: int, last: int) -> str:
        """Characters `first` to `last`, counted from 1, both included; raises ValueError outside the string."""
        if not 1 <= first <= last <= len(self.text):
            raise ValueError(f"range must lie in 1..{len(self.text)}, not {first}..{last}")
        return self.text[first - 1 : last]

    def after(self, marker: str, count: int = SLICE) -> str:
        """The `count` characters after the marker; raises ValueError unless it occurs exactly once."""
        if (times := occurrences(self.text, marker)) != 1:
            raise ValueError(f"marker must occur exactly once, not {times} times")
        start = self.text.index(marker) + len(marker)
        return self.text[start : start + count]


def occurrences(text: str, marker: str) -> int:
    """How often a marker stands in a text, overlapping ones counted."""
    return sum(text.startswith(marker, place) for place in range(len(text)))


def draw_anchor(stream: Stream, length: int = 384) -> Anchor:
    """An anchor of `length` hex characters."""
    return Anchor(stream.hex(length))


def draw_range(stream: Stream, anchor: Anchor, count: int = SLICE) -> tuple[int, int]:
    """A 1-indexed inclusive range of `count` characters somewhere in the anchor."""
    first = stream.between(1, len(anchor.text) - count + 1)
    return first, first + count - 1


def draw_marked(stream: Stream, length: int = 384, count: int = SLICE) -> tuple[Anchor, str]:
    """An anchor with a marker of six hex characters that occurs exactly once, with room for a slice after it."""
    while True:
        anchor = Anchor(stream.hex(length))
        start = stream.between(0, length - 6 - count)
        marker = anchor.text[start : start + 6]
        if occurrences(anchor.text, marker) == 1:
            return anchor, marker
