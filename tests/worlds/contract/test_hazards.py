"""Tokens that a careless client cannot pass on by luck."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.hazards import SHORTEST, risky_base64
from worlds.core.chance import Stream


@given(st.integers(0, 999), st.integers(SHORTEST, 80))
def test_something_to_lose(seed: int, count: int) -> None:
    """Each token holds + and /, not at its start, and is plain base64 of as many bytes as asked for."""
    text = risky_base64(Stream("key", "task", seed, "token"), count)

    assert {"+", "/"} <= set(text)
    assert text[0] not in "+/"
    assert count == len(base64.b64decode(text, validate=True))


def test_too_short() -> None:
    """A length that would take long to draw is refused."""
    with pytest.raises(ValueError, match="not 7"):
        risky_base64(Stream("key", "task", 0, "token"), 7)
