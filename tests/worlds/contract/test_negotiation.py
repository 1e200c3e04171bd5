"""Accept headers: weights, specificity, and what a wildcard names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.negotiation import MediaChoice, accepted, choose, weigh_offer
from worlds.core.wire import request

RFC_EXAMPLE = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5"


@pytest.mark.parametrize(
    ("media_type", "weight"),
    [
        ("text/plain;format=flowed", 1.0),
        ("text/plain", 0.7),
        ("text/html", 0.3),
        ("image/jpeg", 0.5),
        ("text/plain;format=fixed", 0.4),
        ("text/html;level=3", 0.3),
    ],
)
def test_the_most_specific_range_decides(media_type: str, weight: float) -> None:
    """The table of RFC 9110 section 12.5.1."""
    assert weight == weigh_offer(RFC_EXAMPLE, media_type).weight


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", MediaChoice("text/html", 1.0, named=False)),
        ("*/*", MediaChoice("text/html", 1.0, named=False)),
        ("application/*", MediaChoice("application/x+json;v=2", 1.0, named=False)),
        ("application/x+json", MediaChoice("application/x+json;v=2", 1.0, named=True)),
        ("APPLICATION/X+JSON; V=2", MediaChoice("application/x+json;v=2", 1.0, named=True)),
        ('application/x+json;v="2"', MediaChoice("application/x+json;v=2", 1.0, named=True)),
        ('application/x+json;v="\\2"', MediaChoice("application/x+json;v=2", 1.0, named=True)),
        ("application/x+json;v=1", None),
        ("application/json, text/plain", None),
        ("text/html, application/x+json;q=0.9", MediaChoice("text/html", 1.0, named=True)),
        ("text/html;q=0.2, application/x+json;q=0.3", MediaChoice("application/x+json;v=2", 0.3, named=True)),
        ("application/x+json, */*;q=0.1", MediaChoice("application/x+json;v=2", 1.0, named=True)),
        ("application/x+json;q=0.1, */*", MediaChoice("text/html", 1.0, named=False)),
        ("application/x+json;q=0", None),
        ("*/*, application/x+json;q=0, text/html;q=0.000", None),
        ("application/x+json;q=0.5;v=1", MediaChoice("application/x+json;v=2", 0.5, named=True)),
        ('application/x+json;v="a,b";q=1, application/x+json;q=0.4', MediaChoice("application/x+json;v=2", 0.4, named=True)),
    ],
)
def test_choice(accept: str, chosen: MediaChoice | None) -> None:
    """The heaviest acceptable offer, ties to the first; a wildcard admits a type without naming it."""
    assert chosen == choose(accept, ["text/html", "application/x+json;v=2"])


@pytest.mark.parametrize(
    "accept", ["json", "*/json", "a/b/c", "a/b;q=2", "a/b;q=0.1234", "a/b;q=", "a/b;c", 'a/b;c="', ",", "; /"]
)
def test_what_cannot_be_read_is_passed_over(accept: str) -> None:
    """A broken range matches nothing and breaks no other."""
    assert choose(accept, ["a/b"]) is None
    assert MediaChoice("a/b", 1.0, named=True) == choose(f"{accept.rstrip(chr(34))}, a/b", ["a/b"])


def test_lines_are_one_list() -> None:
    """Two Accept lines are one header; none is the empty one."""
    lines = [("Accept", "text/html;q=0"), ("X-A", "b"), ("accept", "*/*")]

    assert accepted(request("GET", "/", headers=lines)) == "text/html;q=0, */*"
    assert not accepted(request("GET", "/"))


@pytest.mark.parametrize("offer", ["text/*", "json"])
def test_an_offer_is_a_media_type(offer: str) -> None:
    """A range, and what cannot be read, is nothing that a server could send."""
    with pytest.raises(ValueError, match=f"^an offer must be a media type, not '{re.escape(offer)}'$"):
        weigh_offer("*/*", offer)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=200))
def test_any_text_is_judged(accept: str) -> None:
    """No header breaks it, and a weight lies in 0..1."""
    assert 0 <= weigh_offer(accept, "text/html").weight <= 1
