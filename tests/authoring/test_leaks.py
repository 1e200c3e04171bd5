"""What counts as a secret of a correct client, and when a refusal tells it."""

from __future__ import annotations

import json

import pytest

from harness.authoring.leaks import secrets
from harness.authoring.plays import Exchange, Play
from worlds.core.wire import WireResponse, request

SLICE = "0123456789abcdef01234567"


def sent(
    target: str = "/", *, headers: dict[str, str] | None = None, body: str = "", instruction: str = f"Seed: ff{SLICE}ff"
) -> set[str]:
    """The secrets of an oracle that makes one request."""
    made = request("POST", target, headers=headers or {}, body=body)
    return set(secrets(Play("solve", 0, instruction=instruction, exchanges=[Exchange(made, WireResponse(200))])))


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"X-Slice": SLICE}, {SLICE}),
        ({"X-Proof": f"{SLICE}:tail-123"}, {f"{SLICE}:tail-123", SLICE, "tail-123"}),
        ({"Authorization": "Bearer token-abcdef"}, {"Bearer token-abcdef", "token-abcdef"}),
        ({"If-Match": '"etag-value"'}, {'"etag-value"', "etag-value"}),
        ({"User-Agent": "python-httpx/0.28", "Accept": "application/json"}, set()),
        ({"X-Short": "1234567"}, set()),
    ],
)
def test_headers(headers: dict[str, str], found: set[str]) -> None:
    """Header values count whole and in their parts, apart from standard ones."""
    assert found == sent(headers=headers)


def test_query_and_path() -> None:
    """Query values count as sent and decoded, and so do long parts of the path."""
    assert {"a%2Fb%2Fc1234", "a/b/c1234", "resource-12"} == sent("/api/resource-12?sig=a%2Fb%2Fc1234&n=1")


def test_bodies() -> None:
    """JSON counts by its leaves, a form by its fields, anything else as it is."""
    nested = json.dumps({"a": [{"token": SLICE}, 12345678], "long_key_name": "x"})

    assert {SLICE} == sent(body=nested)
    assert {"value-1234", "key=value-1234"} == sent(body="key=value-1234")
    assert {"part-1-of-it"} == sent(body="part-1-of-it\n")


def test_printed_words_are_no_secrets() -> None:
    """A word that the instruction prints is public; a slice of a longer string in it is not."""
    assert {SLICE} == sent(headers={"X-Mode": "standard", "X-Slice": SLICE}, instruction=f"Use `standard`. Seed: ff{SLICE}ff")
