"""An observation contract: an artifact, when it was issued, how long it lives, and which bytes may stand for it.

Definitions 2.1 to 2.4 and Appendix F of the paper, with time in integer virtual ms:
1. the window is half-open, [issued_at, expires_at), so a use at the last instant is too late;
2. a submission satisfies a contract when it is in the window (validity) and its bytes pass (integrity);
3. when both fail, validity is judged first, and the integrity failure is named beside it;
4. a trace is compliant when every submission satisfies its contract.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worlds.contract.labels import Label
from worlds.contract.predicates import Predicate, sha256
from worlds.core.calls import Violation


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
        """Whether `current_time` (virtual ms) lies in the window."""
        return self.issued_at <= current_time < self.expires_at

    def validate_integrity(self, submitted: bytes) -> bool:
        """Whether these bytes may stand for the artifact."""
        return (self.predicate or sha256(self.expected_bytes_hash))(submitted)

    def validate(self, current_time: int, submitted: bytes) -> Label:
        """SUCCESS, EXPIRED_BEFORE_USE or MUTATED_TOKEN; validity first (Appendix F)."""
        if not self.validate_validity(current_time):
            return Label.EXPIRED_BEFORE_USE
        return Label.SUCCESS if self.validate_integrity(submitted) else Label.MUTATED_TOKEN

    def expired(self, current_time: int, *, also: str | None = None, rule: str | None = None) -> Violation:
        """The violation of using this artifact too late, with the paper's four details (Appendix G), in s.

        `rule` is what the caller is told, where the artifact's id would mean nothing to them.
        """
        return Violation(
            Label.EXPIRED_BEFORE_USE, rule or f"{self.contract_id} has expired", status=410, also=also,
            resource_id=self.contract_id,
            ttl_seconds=(self.expires_at - self.issued_at) / 1000,
            time_of_attempt=current_time / 1000,
            expired_by_seconds=(current_time - self.expires_at) / 1000,
        )  # fmt: skip


def contract(contract_id: str, value: bytes, issued_at: int, ttl_ms: int, **metadata: Any) -> Contract:
    """A contract on exactly these bytes, for `ttl_ms` from `issued_at` (virtual ms); raises ValueError unless ttl_ms > 0."""
    if ttl_ms <= 0:
        raise ValueError(f"a window must be longer than 0 ms, not {ttl_ms}")
    return Contract(contract_id, issued_at, issued_at + ttl_ms, hashlib.sha256(value).hexdigest(), metadata)


def compliant(trace: Iterable[tuple[Contract, bytes, int]]) -> bool:
    """Definition 2.4: every (contract, submitted bytes, virtual ms) of the trace is satisfied."""
    return all(made.validate(at, submitted) is Label.SUCCESS for made, submitted, at in trace)


def first_difference(expected: bytes, given: bytes) -> int:
    """The offset of the first byte in which two strings differ, or the length of the shorter one."""
    for offset, (a, b) in enumerate(zip(expected, given, strict=False)):
        if a != b:
            return offset
    return min(len(expected), len(given))
