"""State and checks of an authorization server: parameters, consent, code, PKCE, and a rotating pair of tokens.

1. Parameters are compared by name (RFC 6749 section 4.1.1).
2. A consent nonce is never sent back: a digest proves that the client has it. The client gets a code, which is valid for one
use. A second use is EXPIRED_BEFORE_USE, and also revokes the tokens that the code returned (section 4.1.2).
3. A challenge is the S256 challenge of a verifier of exactly 128 characters, the maximum of RFC 7636 section 4.1.
4. Each refresh replaces both tokens (RFC 9700 section 4.14.2). A replaced refresh token is EXPIRED_BEFORE_USE, and its replay
revokes the pair, so the holder of the newer one is locked out too. The task checks the scope of a refresh, which must lie
within the consent (RFC 6749 section 6).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping

from worlds.contract.checks import check_digest, check_value, sha256_hex
from worlds.contract.credentials import Credential
from worlds.contract.gates import Gate
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Violation

CHALLENGE = "[A-Za-z0-9_-]{43}"
VERIFIER = "[A-Za-z0-9._~-]{128}"
TOKEN_BYTES = 47


def check_parameters(given: Mapping[str, object], right: Mapping[str, str]) -> None:
    """Raise MISSING_CONSTRAINT for the first absent parameter, or WRONG_VALUE for the first incorrect one."""
    for name, value in right.items():
        check_value(given.get(name), value, name)


def s256(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636 section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def check_challenge(given: object) -> None:
    """Raise WRONG_VALUE unless this has the form of an S256 challenge: unpadded base64url of 32 bytes."""
    _check_form(given, CHALLENGE, "code_challenge")


def check_verifier(given: object, challenge: str) -> None:
    """Raise WRONG_VALUE unless this is a verifier that matches the challenge."""
    _check_form(given, VERIFIER, "code_verifier")
    check_value(s256(str(given)), challenge, "the challenge of code_verifier")


class Consent:
    """Exchange of a consent nonce for a code; lifetimes are in virtual ms."""

    def __init__(self, world: ContractWorld, nonce_ms: int, code_ms: int) -> None:
        self._world, self._nonce_ms, self._code_ms = world, nonce_ms, code_ms
        self._gate, self._code = Gate(world, "consent_nonce", "authorization"), Credential(world, "code")
        self._spent: str | None = None

    @property
    def nonce(self) -> str:
        """The newest consent nonce; "" if none has been issued."""
        return self._gate.text

    @property
    def code(self) -> str:
        """The newest code; "" if none has been issued."""
        return self._code.text

    def ask(self) -> dict[str, object]:
        """Issue a new consent nonce and return it with its deadline; it replaces the previous one."""
        return self._gate.open(self._nonce_ms)

    def require(self) -> None:
        """Raise MISSING_CONSTRAINT unless there is a nonce."""
        self._gate.require()

    def check(self, given: object, what: str, *parts: str) -> None:
        """Raise unless `given` is the SHA-256 of nonce and parts, concatenated, and the nonce has not expired."""
        expected = sha256_hex(self.nonce, *parts)
        validity_first(self._gate.check_window, lambda: check_digest(given, expected, what))

    def grant(self) -> dict[str, object]:
        """Issue a new code and return it with its deadline; it replaces the previous one."""
        made = self._code.renew(risky_base64(self._world.chance("code"), TOKEN_BYTES), self._code_ms)
        return {"code": self.code, "deadline": made.expires_at / 1000}

    def redeem(self, given: object, what: str, *gave: Credential) -> None:
        """Raise unless this is the newest code, in its window and unused; MISSING_CONSTRAINT if none was issued.

        A second use of the last spent code revokes the tokens that it `gave`.
        """
        if self._spent is not None and given == self._spent:
            for token in gave:
                token.revoke()
        self._code.redeem(given, what, missing=Label.MISSING_CONSTRAINT)

    def spend(self) -> None:
        """Revoke the code after its use."""
        self._spent = self.code
        self._code.revoke()


class TokenPair:
    """An access token, its refresh token, and the scope of both; lifetimes are in virtual ms."""

    def __init__(self, world: ContractWorld, access_ms: int, refresh_ms: int) -> None:
        self._world, self._lives_ms = world, (access_ms, refresh_ms)
        self.access, self.refresh = Credential(world, "access_token"), Credential(world, "refresh_token")
        self.scope: tuple[str, ...] = ()
        self.refreshes = 0

    @property
    def early_ms(self) -> int:
        """Remaining lifetime of the access token in ms; 0 after its end."""
        made = self.access.current
        return max(0, made.contract.expires_at - self._world.now) if made else 0

    def grant(self, *scope: str) -> dict[str, object]:
        """Issue the first pair and return the response body (RFC 6749 section 5.1)."""
        self.refreshes = 0
        return self._renew(scope)

    def rotate(self, *scope: str) -> dict[str, object]:
        """Replace the pair by the next one and return the response body."""
        self.refreshes += 1
        return self._renew(scope)

    def redeem_refresh(self, value: object, what: str) -> None:
        """Raise unless this is the newest refresh token, in its window; an older one revokes the pair."""
        generation = self.refresh.find(value)
        if generation is not None and generation is not self.refresh.current:
            self.access.revoke()
            self.refresh.revoke()
        self.refresh.redeem(value, what)

    def check_scope(self, needed: str) -> None:
        """Raise MISSING_CONSTRAINT unless the scope includes `needed` (insufficient_scope, RFC 6750 section 3.1)."""
        if needed not in self.scope:
            raise Violation(Label.MISSING_CONSTRAINT, "insufficient_scope: the token does not reach so far", field="scope")

    def _renew(self, scope: tuple[str, ...]) -> dict[str, object]:
        self.scope = scope
        for token, ttl_ms in zip((self.access, self.refresh), self._lives_ms, strict=True):
            token.renew(risky_base64(self._world.chance(token.name), TOKEN_BYTES), ttl_ms)
        return {
            "access_token": self.access.text, "token_type": "Bearer", "expires_in": self._lives_ms[0] // 1000,
            "refresh_token": self.refresh.text, "scope": " ".join(scope),
        }  # fmt: skip


def _check_form(given: object, pattern: str, what: str) -> None:
    if not isinstance(given, str) or not re.fullmatch(pattern, given):
        raise Violation(Label.WRONG_VALUE, f"{what} has the wrong form", field=what)
