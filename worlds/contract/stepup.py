"""Step-up authentication: a request is refused once with a challenge, and served with the correct answer to it.

The refusal is a planned 428 (Precondition Required, RFC 6585 section 3). The answer is the session's cumulative proof over the
challenge and parts that a task adds. It is MISSING_CONSTRAINT if absent, EXPIRED_BEFORE_USE if late, otherwise WRONG_HASH.
"""

from __future__ import annotations

from worlds.contract.checks import check_digest
from worlds.contract.gates import Gate
from worlds.contract.judgement import validity_first
from worlds.contract.sessions import Session
from worlds.contract.world import ContractWorld
from worlds.core.calls import Reply, protocol


class StepUp:
    """One challenge at a time, each for `ttl_ms` (virtual ms)."""

    def __init__(self, world: ContractWorld, ttl_ms: int) -> None:
        self._gate, self._ttl_ms = Gate(world, "challenge", "challenge"), ttl_ms

    @property
    def asked(self) -> bool:
        """True if a challenge is open."""
        return self._gate.token is not None

    def ask(self, session: Session, *, rekey: bool = False) -> Reply:
        """Return the refusal: challenge and deadline, next nonce, and a new signing key on demand."""
        body = session.answer(self._gate.open(self._ttl_ms), rekey=rekey)
        return protocol(428, "the challenge must be answered", body=body)

    def check(self, session: Session, given: object, what: str, *parts: str) -> None:
        """Raise unless `given` is the proof over challenge and parts, in time; accept anything if no challenge is open."""
        if self.asked:
            expected = session.digest(self._gate.text, *parts)
            validity_first(self._gate.check_window, lambda: check_digest(given, expected, what))

    def close(self) -> None:
        """Close the challenge after it was answered."""
        self._gate.close()
