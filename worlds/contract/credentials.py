"""A credential lives through generations: one token counts now, and those it replaced are recognised as what they were.

1. A token that was replaced is EXPIRED_BEFORE_USE (revocation ends its window; RFC 7009 section 2), with a grace period where
   the contract grants one. `extend` is for windows that slide, as an idle timeout does.
2. Bytes that were never issued are held against the generation that they most resemble, the newest if they resemble none:
   cut, wrapped, re-encoded or otherwise changed, by the classes of `worlds.contract.mangling`. So a mangled token that is over
   as well is told as both, validity first (paper, Appendix F).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Violation

PIECE = 4
"""Characters in the pieces by which two texts are compared."""


@dataclass(frozen=True)
class Generation:
    """One token of a credential: its text, and the contract on it."""

    number: int
    text: str
    contract: Contract
    revoked: bool = False
    """Whether it ended before its time, or will."""


class Credential:
    """The tokens of one name, generation 0 first."""

    def __init__(self, world: ContractWorld, name: str) -> None:
        self._world, self.name = world, name
        self.generations: list[Generation] = []

    @property
    def current(self) -> Generation | None:
        """The newest token, or None before the first."""
        return self.generations[-1] if self.generations else None

    @property
    def text(self) -> str:
        """The newest token's text; "" before the first."""
        return self.generations[-1].text if self.generations else ""

    def renew(self, text: str, ttl_ms: int, *, grace_ms: int = 0) -> Contract:
        """Issue the next generation for `ttl_ms`; the one before ends after `grace_ms` (virtual ms), if not earlier."""
        self.revoke(grace_ms=grace_ms)
        number = len(self.generations)
        made = self._world.issue(f"{self.name}_{number}", text, ttl_ms)
        self.generations.append(Generation(number, text, made))
        return made

    def revoke(self, *, grace_ms: int = 0) -> None:
        """End the current generation after `grace_ms`; nothing takes its place."""
        if self.generations:
            last = self.generations[-1]
            ends = min(last.contract.expires_at, self._world.now + grace_ms)
            self.generations[-1] = replace(last, contract=replace(last.contract, expires_at=ends), revoked=True)

    def extend(self, ttl_ms: int) -> None:
        """Let the current generation live for `ttl_ms` (virtual ms) from now; raises ValueError unless it is in its window."""
        last = self.current
        if last is None or not last.contract.validate_validity(self._world.now):
            raise ValueError(f"{self.name} must be in its window to be extended")
        made = replace(last.contract, expires_at=self._world.now + ttl_ms)
        self.generations[-1] = replace(last, contract=made)
        self._world.issued(made.contract_id, made.expires_at, made.issued_at)

    def find(self, value: object) -> Generation | None:
        """The generation whose text `value` is, ended or not; None for bytes that were never issued."""
        return next((made for made in self.generations if made.text == value), None)

    def redeem(self, value: object, what: str, *, missing: Label = Label.MISSING_TOKEN) -> Generation:
        """The generation that `value` is, if it is one and in its window.

        Raises `missing` when it is absent or nothing was issued yet, EXPIRED_BEFORE_USE for a generation that has ended,
        and what `ContractWorld.redeem` raises for bytes that were never issued. `what` names the field for the caller.
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
        """The generation that shares most pieces with these bytes; the newest of equals."""
        given = _pieces(value if isinstance(value, str) else repr(value))
        return max(reversed(self.generations), key=lambda made: len(given & _pieces(made.text)))


def _pieces(text: str) -> set[str]:
    return {text[start : start + PIECE] for start in range(len(text) - PIECE + 1)}
