"""Integrity predicates: functions that decide whether submitted bytes are accepted for the issued ones.

The paper uses SHA-256 equality and admits any deterministic predicate (Definition 2.1). Each factory returns a function of
the submitted bytes. Comparisons are constant-time by convention, not by need.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable

Predicate = Callable[[bytes], bool]


def sha256(expected_hex: str) -> Predicate:
    """Return a predicate for bytes whose SHA-256 is `expected_hex`."""
    return lambda given: hmac.compare_digest(hashlib.sha256(given).hexdigest(), expected_hex)


def hmac_sha256(key: bytes, message: bytes) -> Predicate:
    """Return a predicate for the hex HMAC-SHA256 of `message` under `key` (FIPS 198-1)."""
    expected = hmac.new(key, message, hashlib.sha256).hexdigest().encode()
    return lambda given: hmac.compare_digest(given, expected)


def etag(current: str, *, weak: bool = False) -> Predicate:
    """Return a predicate for an entity tag equal to `current` (RFC 9110 section 8.8.3.2); `weak` ignores any W/ prefix."""

    def strip(tag: bytes) -> bytes:
        return tag.removeprefix(b"W/") if weak else tag

    strong_only = current.startswith("W/") and not weak
    return lambda given: not strong_only and hmac.compare_digest(strip(given), strip(current.encode()))


def jwt_hs256(key: bytes) -> Predicate:
    """Return a predicate for a compact JWS whose HS256 signature verifies under `key` (RFC 7515, RFC 7518 section 3.2)."""

    def holds(given: bytes) -> bool:
        signed, dot, signature = given.rpartition(b".")
        if not dot or signed.count(b".") != 1 or not _says_hs256(signed.partition(b".")[0]):
            return False
        mac = hmac.new(key, signed, hashlib.sha256).digest()
        return hmac.compare_digest(base64.urlsafe_b64encode(mac).rstrip(b"="), signature)

    return holds


def _says_hs256(header: bytes) -> bool:
    try:
        decoded = base64.urlsafe_b64decode(header + b"=" * (-len(header) % 4))
    except binascii.Error:
        return False
    return b'"alg":"HS256"' in decoded.replace(b" ", b"")
