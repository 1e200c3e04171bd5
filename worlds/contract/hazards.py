"""Base64 that has something to lose: a token that went through a careless form, query or alphabet must not survive by luck.

One in four tokens of 64 bytes has no + in it, and would not notice a client that sends + as it is; such tokens are drawn again.
"""

from __future__ import annotations

from worlds.core.chance import Stream

SHORTEST = 8
"""Bytes below which drawing again could take long."""


def risky_base64(stream: Stream, count: int) -> str:
    """Base64 (RFC 4648 section 4, padded) of `count` bytes, with at least one + and one /, and neither at the start.

    A + at the start would become a space at an edge, which a header cannot carry. Raises ValueError unless count >= 8.
    """
    if count < SHORTEST:
        raise ValueError(f"a risky token needs at least {SHORTEST} bytes, not {count}")
    while True:
        text = stream.base64(count)
        if "+" in text and "/" in text and text[0] not in "+/":
            return text
