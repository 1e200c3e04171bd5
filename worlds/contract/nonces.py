"""A chain of nonces: every answer brings the one that the next request must carry, and takes back the one before.

It ties requests into one sequence: a client that forgets to keep up, or plays two requests at once, is told apart from one
that follows. An absent nonce is MISSING_CONSTRAINT, any but the current one is WRONG_VALUE.
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
        """The nonce that counts now; "" before the first."""
        return self.past[-1] if self.past else ""

    def advance(self) -> str:
        """A new nonce (lower-case hex), for the next request."""
        self.past.append(self.stream.hex(CHARS))
        return self.current

    def require(self, call: Call) -> None:
        """Raise MISSING_CONSTRAINT for a request without a nonce; whether it is the right one is judged later."""
        require_headers(call, self.header)

    def check(self, call: Call) -> None:
        """Raise unless the request carries the current nonce."""
        check_header(call, self.header, self.current)
