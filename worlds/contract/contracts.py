"""Observation contracts: an artifact, its time of issue, its lifetime, and the bytes that are accepted for it.

Definitions 2.1 to 2.4 and Appendix F of the paper, with time in integer virtual ms:
1. The window is half-open, [issued_at, expires_at), so a use at expires_at is too late.
2. A submission satisfies a contract if it is in the window (validity) and its bytes pass (integrity).
3. If both fail, validity is judged first, and the integrity failure is reported beside it.
4. A trace is compliant if every submission satisfies its contract.
Integrity predicates decide which bytes are accepted for the issued ones: equal SHA-256, or any deterministic function.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worlds.contract.labels import Label
from worlds.core.calls import Violation

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


@dataclass(frozen=True)
class Contract:
    """One issued artifact. `expected_bytes_hash` is the SHA-256 (hex) of its canonical bytes."""

    contract_id: str
    issued_at: int
    expires_at: int
    expected_bytes_hash: str
    resource_metadata: Mapping[str, Any] = field(default_factory=dict)
    predicate: Predicate | None = None

    def validate_validity(self, current_time: int) -> bool:
        """Return True if `current_time` (virtual ms) lies in the window."""
        return self.issued_at <= current_time < self.expires_at

    def validate_integrity(self, submitted: bytes) -> bool:
        """Return True if these bytes are accepted for the artifact."""
        return (self.predicate or sha256(self.expected_bytes_hash))(submitted)

    def validate(self, current_time: int, submitted: bytes) -> Label:
        """Return SUCCESS, EXPIRED_BEFORE_USE or MUTATED_TOKEN; validity is judged first (Appendix F)."""
        if not self.validate_validity(current_time):
            return Label.EXPIRED_BEFORE_USE
        return Label.SUCCESS if self.validate_integrity(submitted) else Label.MUTATED_TOKEN

    def judge(self, current_time: int, broken: Violation | None, rule: str) -> None:
        """Raise for a use too late, with the label of `broken` (wrong bytes) beside it; in time raise `broken`, if any."""
        if not self.validate_validity(current_time):
            raise self.expired(current_time, also=broken.label if broken else None, rule=rule)
        if broken is not None:
            raise broken

    def expired(self, current_time: int, *, also: str | None = None, rule: str | None = None) -> Violation:
        """Return the violation for using this artifact too late, with the paper's four details (Appendix G), in s.

        `rule` is the message for the caller if the artifact's id would mean nothing to them.
        """
        return Violation(
            Label.EXPIRED_BEFORE_USE, rule or f"{self.contract_id} has expired", status=410, also=also,
            resource_id=self.contract_id,
            ttl_seconds=(self.expires_at - self.issued_at) / 1000,
            time_of_attempt=current_time / 1000,
            expired_by_seconds=(current_time - self.expires_at) / 1000,
        )  # fmt: skip


def make_contract(contract_id: str, value: bytes, issued_at: int, ttl_ms: int, **metadata: Any) -> Contract:
    """Return a contract on exactly these bytes, for `ttl_ms` from `issued_at` (virtual ms).

    Raises ValueError unless ttl_ms > 0.
    """
    if ttl_ms <= 0:
        raise ValueError(f"a window must be longer than 0 ms, not {ttl_ms}")
    return Contract(contract_id, issued_at, issued_at + ttl_ms, hashlib.sha256(value).hexdigest(), metadata)


def is_compliant(trace: Iterable[tuple[Contract, bytes, int]]) -> bool:
    """Return True if every (contract, submitted bytes, virtual ms) of the trace is satisfied (Definition 2.4)."""
    return all(made.validate(at, submitted) is Label.SUCCESS for made, submitted, at in trace)


def first_difference(expected: bytes, given: bytes) -> int:
    """Return the offset of the first byte in which two strings differ, or the length of the shorter one."""
    for offset, (a, b) in enumerate(zip(expected, given, strict=False)):
        if a != b:
            return offset
    return min(len(expected), len(given))
