"""What counts as a secret of a correct client, and when a refusal tells it."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from parley.proof.leaks import derived, early, fragments, leaks, secrets
from parley.proof.plays import Exchange, Play
from worlds.core.events import Requested
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


def test_derived_is_what_no_answer_had_given_out() -> None:
    """A token that an answer brought is not derived, a digest that the client computed is."""
    given = Exchange(request("GET", "/t"), WireResponse(200, (("X-T", "header-token"),), b'{"token":"token-abcdef"}'))
    used = Exchange(
        request("GET", "/u", headers={"X-A": "token-abcdef", "X-B": "header-token", "X-C": "computed-1"}), WireResponse(200)
    )

    assert set(derived(Play("solve", 0, exchanges=[given, used]))) == {"computed-1"}


@pytest.mark.parametrize(
    ("sent", "told", "found"), [("", "computed-1", 1), ("computed-1", "computed-1", 0), ("", "other-text", 0)]
)
def test_early_is_an_answer_that_tells_what_was_not_sent(sent: str, told: str, found: int) -> None:
    """An answer may echo what its client said, and tell nothing else that is to be derived."""
    headers = {"X-C": sent} if sent else {}
    exchange = Exchange(request("GET", "/u", headers=headers), WireResponse(200, (), told.encode()))

    assert len(list(early(Play("x", 0, exchanges=[exchange]), {"computed-1": "header X-C"}))) == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (SLICE, 1),
        (SLICE[::-1], 1),
        (" ".join(SLICE), 1),
        ("-".join(reversed(SLICE)), 1),
        (f"begins with {SLICE[:12]}", 1),
        (SLICE[3:10], 0),
        ("you said mine-12345678", 0),
        ("the header X-Slice holds another value", 0),
    ],
)
def test_fragments_of_a_secret(told: str, found: int) -> None:
    """Eight characters of a secret in a row are told, forwards, backwards or spaced; what the client said itself is not."""
    parts = fragments({SLICE: "header X-Slice", "mine-12345678": "header X-Mine"}, f"The header X-Slice. Seed: ff{SLICE * 3}ff")
    made = request("GET", "/u", headers={"X-Mine": "mine-12345678"})
    answer = Exchange(made, WireResponse(409, (), told.encode()))
    played = Play("x", 0, exchanges=[answer])
    digests = {"target_sha256": sha256(made.target).hexdigest(), "body_sha256": sha256(made.body).hexdigest()}
    played.events = [Requested(vt=0, seq=0, method="GET", path="/u", status=409, kind="violation", **digests)]

    assert len(list(leaks(played, {}, parts))) == found
