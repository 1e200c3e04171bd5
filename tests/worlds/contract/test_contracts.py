"""Definitions 2.1 to 2.4 and Appendix F: windows, bytes, both, and whole traces."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.contracts import (
    Contract,
    Predicate,
    etag,
    first_difference,
    hmac_sha256,
    is_compliant,
    jwt_hs256,
    make_contract,
    sha256,
)
from worlds.contract.labels import Label

VALUE = b"artifact"
MADE = make_contract("a", VALUE, issued_at=1000, ttl_ms=500, colour="red")


def test_the_five_fields() -> None:
    """A contract is id, window, digest of the canonical bytes, and metadata."""
    assert Contract("a", 1000, 1500, hashlib.sha256(VALUE).hexdigest(), {"colour": "red"}) == MADE


@pytest.mark.parametrize(("now", "valid"), [(999, False), (1000, True), (1499, True), (1500, False), (1501, False)])
def test_window_is_half_open(now: int, valid: bool) -> None:
    """The first instant counts, the last one is too late."""
    assert valid is MADE.validate_validity(now)


@pytest.mark.parametrize(
    ("now", "submitted", "label"),
    [
        (1499, VALUE, Label.SUCCESS),
        (1500, VALUE, Label.EXPIRED_BEFORE_USE),
        (1499, b"artifacT", Label.MUTATED_TOKEN),
        (1500, b"artifacT", Label.EXPIRED_BEFORE_USE),
    ],
)
def test_four_cells(now: int, submitted: bytes, label: Label) -> None:
    """Time and bytes fail apart and together; together, validity is judged first."""
    assert label is MADE.validate(now, submitted)


@given(st.integers(0, 3000), st.binary(max_size=9) | st.just(VALUE))
def test_validate_is_both_predicates(now: int, submitted: bytes) -> None:
    """Success is validity and integrity, nothing else."""
    satisfied = MADE.validate(now, submitted) is Label.SUCCESS

    assert (MADE.validate_validity(now) and MADE.validate_integrity(submitted)) is satisfied


def test_expired_has_the_four_details() -> None:
    """An expiry tells id, life, time of attempt and lateness, in seconds, and what else failed."""
    broken = MADE.expired(1750, also="MUTATED_TOKEN")
    detail = {"resource_id": "a", "ttl_seconds": 0.5, "time_of_attempt": 1.75, "expired_by_seconds": 0.25}

    assert ("EXPIRED_BEFORE_USE", 410, "MUTATED_TOKEN", detail, "a has expired") == (
        broken.label, broken.status, broken.also, broken.detail, broken.rule,
    )  # fmt: skip


@pytest.mark.parametrize("ttl", [0, -1])
def test_empty_window(ttl: int) -> None:
    """A contract nobody could keep is refused."""
    with pytest.raises(ValueError, match=rf"^a window must be longer than 0 ms, not {ttl}$"):
        make_contract("a", VALUE, 0, ttl)


@pytest.mark.parametrize(
    ("trace", "kept"),
    [
        ([], True),
        ([(MADE, VALUE, 1000)], True),
        ([(MADE, VALUE, 1000), (MADE, VALUE, 1500)], False),
        ([(MADE, b"", 1000)], False),
    ],
)
def test_compliant_is_a_product(trace: list[tuple[Contract, bytes, int]], kept: bool) -> None:
    """A trace is compliant when every submission is."""
    assert kept is is_compliant(trace)


KEY = b"key"


def token(header: dict[str, str], key: bytes = KEY) -> bytes:
    """A compact JWS with an HS256 signature."""
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in (header, {"sub": "x"})]
    return signed(b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts), key)


def signed(text: bytes, key: bytes = KEY) -> bytes:
    """Header and payload with the signature that is right for them."""
    mac = hmac.new(key, text, hashlib.sha256).digest()
    return text + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")


GOOD = token({"alg": "HS256", "typ": "JWT"})
MAC = hmac.new(KEY, b"message", hashlib.sha256).hexdigest().encode()


@pytest.mark.parametrize(
    ("predicate", "submitted", "holds"),
    [
        (sha256(hashlib.sha256(VALUE).hexdigest()), VALUE, True),
        (sha256(hashlib.sha256(VALUE).hexdigest()), VALUE + b"\n", False),
        (hmac_sha256(KEY, b"message"), MAC, True),
        (hmac_sha256(KEY, b"message"), MAC.upper(), False),
        (hmac_sha256(KEY, b"message"), b"", False),
        (etag('"v1"'), b'"v1"', True),
        (etag('"v1"'), b'W/"v1"', False),
        (etag('"v1"'), b"v1", False),
        (etag('W/"v1"'), b'W/"v1"', False),
        (etag('W/"v1"', weak=True), b'W/"v1"', True),
        (etag('W/"v1"', weak=True), b'"v1"', True),
        (etag('"v1"', weak=True), b'"v2"', False),
        (jwt_hs256(KEY), GOOD, True),
        (jwt_hs256(KEY), GOOD[:-1], False),
        (jwt_hs256(KEY), GOOD + b"=", False),
        (jwt_hs256(b"other"), GOOD, False),
        (jwt_hs256(KEY), token({"alg": "none"}), False),
        (jwt_hs256(KEY), b"a." + GOOD, False),
        (jwt_hs256(KEY), b"", False),
        (jwt_hs256(KEY), b"\xff.\xff.\xff", False),
        (jwt_hs256(KEY), signed(b"a.payload"), False),
    ],
)
def test_predicates(predicate: Predicate, submitted: bytes, holds: bool) -> None:
    """SHA-256, HMAC, entity tags and JWS each say yes to the right bytes only."""
    assert holds is predicate(submitted)


def test_own_predicate_replaces_the_digest() -> None:
    """A contract judges by its predicate where it has one."""
    weak: Callable[[bytes], bool] = etag('"v1"', weak=True)
    made = Contract("e", 0, 10, hashlib.sha256(b'"v1"').hexdigest(), predicate=weak)

    assert made.validate(5, b'W/"v1"') is Label.SUCCESS


@pytest.mark.parametrize(
    ("given_bytes", "offset"), [(b"artifact", 8), (b"artifacT", 7), (b"art", 3), (b"artifacts", 8), (b"", 0)]
)
def test_first_difference(given_bytes: bytes, offset: int) -> None:
    """The first byte that differs, or the end of the shorter one."""
    assert offset == first_difference(VALUE, given_bytes)
