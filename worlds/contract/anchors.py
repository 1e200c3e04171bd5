"""Anchors: long random strings in the instruction; requests must carry a slice of one, which no endpoint serves.

An anchor tests whether text reaches a request from the prompt. A slice is named by a 1-indexed inclusive range, or as the
characters after a marker that occurs exactly once. The slice itself is never printed.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.core.chance import Stream

SLICE = 24
"""Number of characters in a slice."""

TAIL = 8
"""Number of characters of a token that a proof carries."""


@dataclass(frozen=True)
class Anchor:
    """The whole string, as the instruction prints it."""

    text: str

    def chars(self, first: int, last: int) -> str:
        """Return characters `first` to `last`, 1-indexed and inclusive; raises ValueError outside the string."""
        if not 1 <= first <= last <= len(self.text):
            raise ValueError(f"range must lie in 1..{len(self.text)}, not {first}..{last}")
        return self.text[first - 1 : last]

    def after(self, marker: str, count: int = SLICE) -> str:
        """Return the `count` characters after the marker; raises ValueError unless it occurs exactly once."""
        if (times := occurrences(self.text, marker)) != 1:
            raise ValueError(f"marker must occur exactly once, not {times} times")
        start = self.text.index(marker) + len(marker)
        return self.text[start : start + count]


def occurrences(text: str, marker: str) -> int:
    """Count the occurrences of a marker in a text, including overlapping ones."""
    return sum(text.startswith(marker, place) for place in range(len(text)))


def draw_anchor(stream: Stream, length: int = 384) -> Anchor:
    """Draw an anchor of `length` hex characters."""
    return Anchor(stream.hex(length))


def draw_range(stream: Stream, anchor: Anchor, count: int = SLICE) -> tuple[int, int]:
    """Draw a 1-indexed inclusive range of `count` characters in the anchor."""
    first = stream.between(1, len(anchor.text) - count + 1)
    return first, first + count - 1


def draw_marked(stream: Stream, length: int = 384, count: int = SLICE) -> tuple[Anchor, str]:
    """Draw an anchor with a unique marker of six hex characters that is followed by enough text for a slice."""
    while True:
        anchor = Anchor(stream.hex(length))
        start = stream.between(0, length - 6 - count)
        marker = anchor.text[start : start + 6]
        if occurrences(anchor.text, marker) == 1:
            return anchor, marker
