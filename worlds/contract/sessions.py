"""Sessions that order requests into one sequence: each carries the newest nonce and its own number.

1. `X-Session-Nonce` is the newest `session_nonce`. `X-Request-Sequence` numbers the requests after the one that opened the
session, from 1. A refused request uses up neither; a planned refusal that goes through `Session.answer` does.
2. `X-Body-Signature` is the hex HMAC-SHA256 of the raw body under the newest `signing_key`, decoded from hex.
3. A cumulative proof is the digest of all nonces so far and of parts that a task adds; it needs all of them, in order.
4. There is one session at a time. Opening another ends it and is a VERSION_CONFLICT. After that a new one can be opened, so
that a client that lost its session can still show that it recovers.
An absent header is MISSING_CONSTRAINT, a wrong nonce WRONG_VALUE, another number VERSION_CONFLICT, a wrong signature
SIGNATURE_MISMATCH.
"""

from __future__ import annotations

from collections.abc import Mapping

from worlds.contract.checks import check_header, check_hmac, check_turn, require_headers, sha256_hex
from worlds.contract.labels import Label
from worlds.contract.nonces import NonceChain
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Violation

SIGNATURE = "X-Body-Signature"
SEQUENCE = "X-Request-Sequence"
PREVIOUS = "X-Previous-Nonce"
SESSION_HEADERS = ("X-Session-Nonce", SEQUENCE)
"""Headers that every request of a session carries."""

KEY_BYTES, RECEIPT_CHARS = 32, 48


class Session:
    """Id, nonces, number and signing key of one session; `world` provides the chance."""

    def __init__(self, world: ContractWorld) -> None:
        self.id = world.chance("session-id").hex(32)
        self.nonces = NonceChain(world.chance("session-nonce"), SESSION_HEADERS[0])
        self.number = 0
        self.key = b""
        self._keys = world.chance("signing-key")

    def check_place(self, call: Call) -> None:
        """Raise unless the request has the expected number and the newest nonce."""
        check_turn(call.header(SEQUENCE), self.number, f"header {SEQUENCE}")
        self.nonces.check(call)

    def check_previous(self, call: Call) -> None:
        """Raise MISSING_CONSTRAINT or WRONG_VALUE unless the request also carries the nonce before the newest."""
        check_header(call, PREVIOUS, "".join(self.nonces.past[-2:-1]))

    def check_signature(self, call: Call) -> None:
        """Raise unless the raw body is signed with the newest key."""
        check_hmac(call.header(SIGNATURE), self.key, call.body, f"header {SIGNATURE}")

    def digest(self, *parts: str) -> str:
        """Return the cumulative proof: SHA-256 of all nonces so far, oldest first, and these parts, concatenated."""
        return sha256_hex(*self.nonces.past, *parts)

    def answer(self, body: Mapping[str, object], *, rekey: bool = False) -> dict[str, object]:
        """Return a response body with the next nonce, and a new signing key on demand; this advances the request number."""
        self.number += 1
        whole = {**body, "session_nonce": self.nonces.advance()}
        if rekey:
            self.key = self._keys.bytes(KEY_BYTES)
            whole["signing_key"] = self.key.hex()
        return whole


class SessionWorld(ContractWorld):
    """World whose requests all belong to one session, and whose result is a receipt in the last response."""

    session: Session | None = None
    due: list[str]
    """Names that are still to be fetched, the next one first."""

    def open_session(self) -> Session:
        """Open a new session; raises VERSION_CONFLICT if one is open, and ends that one."""
        if self.session is not None:
            self.session = None
            raise Violation(Label.VERSION_CONFLICT, "a session was open, and this ended it", status=409)
        self.session = Session(self)
        return self.session

    def enter(self, call: Call, *headers: str) -> Session:
        """Return the open session; raises MISSING_CONSTRAINT if there is none or a header is absent, also one of `headers`."""
        if self.session is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a session must be opened first", field="session")
        require_headers(call, *SESSION_HEADERS, *headers)
        return self.session

    def check_due(self, name: str) -> None:
        """Raise VERSION_CONFLICT unless this is the next name to be fetched."""
        if name not in self.due[:1]:
            raise Violation(Label.VERSION_CONFLICT, "this is not the next one on the list", status=409)

    def require_step(self, step: str, *, taken: bool) -> None:
        """Raise MISSING_CONSTRAINT unless an earlier step was taken; `step` names it for the caller."""
        if not taken:
            raise Violation(Label.MISSING_CONSTRAINT, f"{step} must come first", status=409, field=step)

    def receipt(self) -> str:
        """Return a new receipt and make it the result to submit."""
        text = self.chance("receipt").hex(RECEIPT_CHARS)
        self.deliverable = text.encode()
        return text
