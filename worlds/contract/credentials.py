"""Credentials with generations: one token is current, and tokens that it replaced are still recognised.

1. A replaced token is EXPIRED_BEFORE_USE (revocation ends its window; RFC 7009 section 2), with a grace period if the contract
grants one. `extend` implements sliding windows such as an idle timeout.
2. Bytes that were never issued are compared with the most similar generation, or the newest if none is similar: truncated,
wrapped, re-encoded or otherwise changed, by the classes of `worlds.contract.mangling`. A mangled token that has also expired
is reported as both, validity first (paper, Appendix F).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Violation

PIECE = 4
"""Length in characters of the pieces by which two texts are compared."""


@dataclass(frozen=True)
class Generation:
    """One token of a credential: its text, and the contract on it."""

    number: int
    text: str
    contract: Contract
    revoked: bool = False
    """True if the window ends earlier than it was issued for."""


class Credential:
    """The tokens of one name, generation 0 first."""

    def __init__(self, world: ContractWorld, name: str) -> None:
        self._world, self.name = world, name
        self.generations: list[Generation] = []

    @property
    def current(self) -> Generation | None:
        """The newest token, or None if none has been issued."""
        return self.generations[-1] if self.generations else None

    @property
    def text(self) -> str:
        """The text of the newest token; "" if none has been issued."""
        return self.generations[-1].text if self.generations else ""

    def renew(self, text: str, ttl_ms: int, *, grace_ms: int = 0) -> Contract:
        """Issue the next generation for `ttl_ms`; the previous one ends after `grace_ms` (virtual ms), if not earlier."""
        self.revoke(grace_ms=grace_ms)
        number = len(self.generations)
        made = self._world.issue(f"{self.name}_{number}", text, ttl_ms)
        self.generations.append(Generation(number, text, made))
        return made

    def revoke(self, *, grace_ms: int = 0) -> None:
        """End the current generation after `grace_ms`, without a replacement."""
        if self.generations:
            last = self.generations[-1]
            ends = min(last.contract.expires_at, self._world.now + grace_ms)
            self.generations[-1] = replace(last, contract=replace(last.contract, expires_at=ends), revoked=True)

    def extend(self, ttl_ms: int) -> None:
        """Extend the current generation to `ttl_ms` (virtual ms) from now; raises ValueError unless it is in its window."""
        last = self.current
        if last is None or not last.contract.validate_validity(self._world.now):
            raise ValueError(f"{self.name} must be in its window to be extended")
        made = replace(last.contract, expires_at=self._world.now + ttl_ms)
        self.generations[-1] = replace(last, contract=made)
        self._world.issued(made.contract_id, made.expires_at, made.issued_at)

    def find(self, value: object) -> Generation | None:
        """Return the generation with the text `value`, expired or not; None for bytes that were never issued."""
        return next((made for made in self.generations if made.text == value), None)

    def redeem(self, value: object, what: str, *, missing: Label = Label.MISSING_TOKEN) -> Generation:
        """Return the generation with the text `value`, if it is in its window.

        Raises `missing` if the value is absent or nothing was issued yet, EXPIRED_BEFORE_USE for a generation that has ended,
        and the errors of `ContractWorld.redeem` for bytes that were never issued. `what` names the field for the caller.
        """
        if self.current is None:
            raise Violation(missing, f"{what} was never issued", field=what)
        generation = self.find(value) or self._nearest(value)
        ended = (
            "has expired" if generation is self.current and not generation.revoked else "was used, replaced or revoked before"
        )
        self._world.redeem(generation.contract, value, what, missing=missing, ended=ended)
        return generation

    def _nearest(self, value: object) -> Generation:
        """Return the generation that shares most pieces with these bytes; the newest one of a tie."""
        given = _pieces(value if isinstance(value, str) else repr(value))
        return max(reversed(self.generations), key=lambda made: len(given & _pieces(made.text)))


def _pieces(text: str) -> set[str]:
    return {text[start : start + PIECE] for start in range(len(text) - PIECE + 1)}
