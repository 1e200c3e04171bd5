"""Gates: steps that must have been taken recently, such as a precheck, a session or a preflight.

Opening a gate issues a token whose last characters go into proofs; opening it again replaces the token. A gate that was never
opened is MISSING_CONSTRAINT; a gate whose window has ended is EXPIRED_BEFORE_USE.
"""

from __future__ import annotations

from worlds.contract.anchors import TAIL
from worlds.contract.checks import check_header
from worlds.contract.contracts import Contract
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Violation

TOKEN_BYTES = 24


class Gate:
    """One gate of a world; `name` is that of its token, e.g. precheck_token."""

    def __init__(self, world: ContractWorld, name: str, step: str) -> None:
        self._world, self.name, self.step = world, name, step
        self.token: Contract | None = None
        self.text = ""

    def open(self, ttl_ms: int) -> dict[str, object]:
        """Open the gate for `ttl_ms` (virtual ms); return the response body with token and deadline in virtual s."""
        self.text = self._world.chance(self.name).base64url(TOKEN_BYTES)
        self.token = self._world.issue(self.name, self.text, ttl_ms)
        return {self.name: self.text, "deadline": self.token.expires_at / 1000}

    def close(self) -> None:
        """Reset the gate, as if it had never been opened."""
        self.token, self.text = None, ""

    def require(self) -> Contract:
        """Return the token's contract; raises MISSING_CONSTRAINT unless the gate was opened."""
        if self.token is None:
            raise Violation(Label.MISSING_CONSTRAINT, f"a {self.step} must come first", field=self.step)
        return self.token

    def check_window(self) -> None:
        """Raise unless the window is still open."""
        token = self.require()
        self._world.used(token.contract_id)
        if not token.validate_validity(self._world.now):
            raise token.expired(self._world.now, rule=f"the window of the {self.step} has ended")

    def proof(self, part: str) -> str:
        """Return `part`, a colon, and the last characters of the token."""
        return f"{part}:{self.text[-TAIL:]}"

    def check_proof(self, call: Call, header: str, part: str) -> None:
        """Raise unless the header holds the proof for `part`."""
        check_header(call, header, self.proof(part))
