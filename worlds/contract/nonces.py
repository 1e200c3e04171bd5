"""Chains of nonces: every response carries the nonce of the next request and invalidates the previous one.

A chain orders requests into one sequence, so a client that loses track or sends two requests at once is detected. An absent
nonce is MISSING_CONSTRAINT; any nonce but the current one is WRONG_VALUE.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from worlds.contract.checks import check_header, require_headers
from worlds.core.calls import Call
from worlds.core.chance import Stream

CHARS = 24


@dataclass
class NonceChain:
    """The nonces of one session, newest last; `header` is where a request carries the current one."""

    stream: Stream
    header: str
    past: list[str] = field(default_factory=list)

    @property
    def current(self) -> str:
        """The current nonce; "" if none has been issued."""
        return self.past[-1] if self.past else ""

    def advance(self) -> str:
        """Return a new nonce (lower-case hex) for the next request."""
        self.past.append(self.stream.hex(CHARS))
        return self.current

    def require(self, call: Call) -> None:
        """Raise MISSING_CONSTRAINT for a request without a nonce; its value is checked later."""
        require_headers(call, self.header)

    def check(self, call: Call) -> None:
        """Raise unless the request carries the current nonce."""
        check_header(call, self.header, self.current)
