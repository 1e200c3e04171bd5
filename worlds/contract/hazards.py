"""Base64 tokens that always contain the characters which careless form, query or alphabet handling damages.

One in four tokens of 64 bytes has no + in it and would not detect a client that sends + unescaped; such tokens are redrawn.
"""

from __future__ import annotations

from worlds.core.chance import Stream

SHORTEST = 8
"""Minimum number of bytes; below it, redrawing could take long."""


def risky_base64(stream: Stream, count: int) -> str:
    """Return base64 (RFC 4648 section 4, padded) of `count` bytes, with at least one + and one /, and neither at the start.

    A + at the start would become a leading space, which a header cannot carry. Raises ValueError unless count >= 8.
    """
    if count < SHORTEST:
        raise ValueError(f"a risky token needs at least {SHORTEST} bytes, not {count}")
    while True:
        text = stream.base64(count)
        if "+" in text and "/" in text and text[0] not in "+/":
            return text
