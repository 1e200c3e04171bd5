"""Requests that expose careless canonical forms: two clients may write every part in two ways.

1. Header values have inner runs of spaces, and one name is a prefix of another, so sorting lines differs from sorting names.
2. Query values have spaces, reserved and unreserved punctuation and UTF-8. One name occurs twice with values whose order
encoding changes, one name is a prefix of another, one value is empty, one name has a capital. They are never listed sorted.
3. A path has an escaped space, an escaped UTF-8 letter, and a tilde.
4. A body has UTF-8, two consecutive spaces, a line feed and a tab, and no line feed at its end.
"""

from __future__ import annotations

from urllib.parse import quote

from worlds.core.chance import Stream

Pairs = list[tuple[str, str]]

WORDS = ("dock", "crane", "ferry", "buoy", "pilot", "cargo", "quay", "berth")
PLACES = ("Malmö", "Łódź", "Besançon", "Þingvellir", "Αθήνα", "Ōtsu")


def draw_headers(draw: Stream) -> Pairs:
    """Draw the headers: Content-Type and two custom headers."""
    name = draw.choice(("X-Memo", "X-Cargo", "X-Route"))
    longer, shorter = (f"{draw.choice(WORDS)}  {draw.choice(WORDS)}   {draw.hex(6)}" for _ in range(2))
    pairs = [("Content-Type", "text/plain; charset=utf-8"), (f"{name}-Zone", longer), (name, shorter)]
    draw.shuffle(pairs)
    return pairs


def draw_query(draw: Stream) -> Pairs:
    """Draw seven query parameters, unencoded."""
    item = draw.choice(("item", "lot", "unit"))
    pairs = [
        ("tag", f"zone-{draw.hex(4)}"), ("tag", f"été {draw.hex(4)}"), (item, draw.hex(6)), (f"{item}-id", draw.hex(6)),
        ("q", f"{draw.choice(WORDS)} & {draw.choice(WORDS)}+1/2~*'(x)={draw.hex(4)}"), ("Port", draw.choice(PLACES)),
        ("flag", ""),
    ]  # fmt: skip
    pairs.sort()
    while [name for name, _ in pairs] == sorted(name for name, _ in pairs):
        draw.shuffle(pairs)
    return pairs


def draw_path(draw: Stream, prefix: str) -> str:
    """Draw a percent-encoded path with one more segment under `prefix`."""
    return f"{prefix}/" + quote(f"{draw.choice(WORDS)} {draw.hex(4)}~{draw.choice(PLACES)}")


def draw_text(draw: Stream) -> str:
    """Draw a body that is sent in UTF-8."""
    said = f"\u201c{draw.choice(WORDS)}  {draw.hex(8)}\u201d \u2713"
    return f"{draw.choice(PLACES)} \u2192 {draw.choice(PLACES)}:\n\t{draw.between(2, 99)} {draw.choice(WORDS)}, {said}"
