"""A pinned certificate is relayed byte for byte, in the form of the header and not of the file, and only while it is current.

A nonce is signed with the slice (HMAC-SHA256, FIPS 198-1) and buys a client certificate, as PEM with line breaks (RFC 7468).
Every further request carries it in Client-Cert in the form of RFC 9440 section 2.1: the DER as a Byte Sequence, base64 on one
line between colons. The bearer token is bound to it (the idea of RFC 8705 section 3), by the SHA-256 of that base64 text, where
the RFC digests the DER. There is no TLS here, so the client sends what by RFC 9440 a proxy adds behind a handshake; a chain of
random request tokens, each good for one request, puts four data requests and the completion in a row. After data 2 or 3, by
seed, the answer replaces the certificate in a header that the instruction does not name; header and bearer must both follow at
once.
A request costs 5 s. The nonce, of 54 to 60 s, is signed at 5 s. The first certificate lives 41 to 45 s and serves data 1 to 3
at 5, 10 and 15 s. Its successor lives 22 to 24 s and serves at most data 3, data 4 and the completion, at 5, 10 and 15 s:
there one more request fits, at 20 s, and a second one, at 25 s, does not. The whole takes 8 requests, 40 s of 120.
At level 4 the second certificate starts to work 7 s after its issue, and the first one works until then: the next request still
carries the first.
Choices where the contract leaves one:
1. certificates are real DER, so `openssl x509` reads them; notAfter is the last second in which one counts;
2. the answer that brings a certificate tells its `expires_at`; the header of the renewal has the form in which it is sent, and
   one of three names by seed;
3. a nonce is used up by the handshake that it makes: used again, or after a newer challenge, it is EXPIRED_BEFORE_USE. So is a
   certificate that was replaced. A wrong signature uses up nothing. A second handshake is VERSION_CONFLICT and changes nothing;
4. a request token belongs to one request, so data 3 with the token for data 2, or anything out of turn, is WRONG_VALUE; only
   the completion before all data is MISSING_CONSTRAINT, a step left out;
5. the bearer is judged against the certificate that the request carries, if it was ever issued, so a bearer that was not
   renewed is WRONG_HASH, and an old pair is an old certificate and nothing else;
6. the completion proves the four fragments by digest; `receipt`, drawn from the seed and given out by it alone, is handed in.
Order of judgement: challenge or handshake made, bearer there, steps taken; then windows, bytes, digests, values.
"""

from collections.abc import Callable
from datetime import timedelta

from worlds.contract.certificates import certificate, field, pem
from worlds.contract.checks import bearer, check_digest, check_hmac, check_value, sha256_hex
from worlds.contract.credentials import Credential
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.nonces import NonceChain
from worlds.contract.rows import Row
from worlds.contract.windows import drawn_ms, not_before
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Violation, get, post

PARTS, RECEIPT_CHARS = 4, 48
RENEWED_IN = ("Client-Cert-Renewal", "Next-Client-Cert", "X-Client-Cert-Replacement")
HEADERS = ("Client-Cert", "Authorization", "X-Request-Token")
"""What every request after the handshake carries."""


class CertificatePinningHandshake(ContractWorld):
    """A handshake, data behind it, a completion."""

    def prepare(self) -> None:
        """Draw lives, the renewal, fragments, receipt and anchor."""
        self.nonce_ms, self.first_ms = drawn_ms(self, "nonce_seconds"), drawn_ms(self, "certificate_seconds")
        self.renewed_ms = drawn_ms(self, "renewed_seconds")
        draw = self.chance("renewal")
        self.renewed_after, self.renewed_in = draw.between(2, 3), draw.choice(RENEWED_IN)
        self.fragments = [self.chance("fragments").hex(32) for _ in range(PARTS)]
        self.receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.draw_slice()
        self.nonce, self.cert, self.starts = Credential(self, "nonce"), Credential(self, "certificate"), list[int]()
        self.tokens = NonceChain(self.chance("request-token"), "X-Request-Token")
        self.row = Row(PARTS)

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        seconds = self.manifest.cost_ms("request") // 1000
        return {
            **self.slice_facts(),
            "parts": PARTS,
            "receipt_chars": RECEIPT_CHARS,
            "request_seconds": seconds,
            "lead": bool(self.knob("lead_seconds")),
        }

    @get("/handshake/challenge")
    def challenge(self, call: Call) -> dict[str, object]:
        """A new nonce; the one before stops counting."""
        made = self.nonce.renew(self.chance("nonce").hex(48), self.nonce_ms)
        return {"nonce": self.nonce.text, "expires_at": made.expires_at / 1000}

    @post("/handshake/sign")
    def sign(self, call: Call) -> dict[str, object]:
        """The first certificate and the first request token, for a signed nonce."""
        given = call.json()
        if self.nonce.current is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a challenge must come first", field="challenge")
        validity_first(
            lambda: self.nonce.redeem(given.get("nonce"), "field nonce"),
            lambda: check_hmac(given.get("signature"), self.slice.encode(), self.nonce.text.encode(), "field signature"),
        )
        if self.cert.current is not None:
            raise Violation(Label.VERSION_CONFLICT, "the handshake was made before", status=409)
        self.nonce.revoke()
        der, ends = self.new_certificate(self.first_ms)
        return {"certificate": pem(der), "expires_at": ends, "request_token": self.tokens.advance()}

    @get("/api/data/{number}", headers=HEADERS)
    def data(self, call: Call) -> Reply:
        """The next fragment; one of the answers brings a new certificate."""
        number = self.row.number(call.params["number"])
        self.require_handshake(call)
        validity_first(*self.checks(call, number))
        self.row.taken = number
        told = {"number": number, "fragment": self.fragments[number - 1], "request_token": self.tokens.advance()}
        if number != self.renewed_after:
            return Reply(told)
        lead_ms = self.knob_ms("lead_seconds")
        der, ends = self.new_certificate(self.renewed_ms, lead_ms)
        told |= {"expires_at": ends, **({"starts_at": self.starts[-1] / 1000} if lead_ms else {})}
        return Reply(told, headers=((self.renewed_in, field(der)),))

    @post("/api/complete", headers=HEADERS)
    def complete(self, call: Call) -> dict[str, object]:
        """The receipt, for who kept every fragment."""
        self.require_handshake(call)
        given = call.json()
        self.row.require(PARTS)
        validity_first(
            *self.checks(call, PARTS + 1),
            lambda: check_digest(given.get("digest"), sha256_hex(*self.fragments), "field digest"),
            lambda: check_value(given.get("anchor"), self.slice, "field anchor"),
        )
        self.deliverable = self.receipt.encode()
        return {"receipt": self.receipt}

    def require_handshake(self, call: Call) -> None:
        """Raise unless the handshake was made and the request has a bearer."""
        if self.cert.current is None:
            raise Violation(Label.MISSING_CONSTRAINT, "the handshake must come first", field="handshake")
        if bearer(call) is None:
            raise Violation(Label.MISSING_TOKEN, "header Authorization holds no bearer token", field="Authorization")

    def checks(self, call: Call, number: int) -> list[Callable[[], object]]:
        """The checks of certificate, bearer and request token; `number` is that of the request in its row."""
        shown = self.cert.find(call.header("Client-Cert")) or self.cert.generations[-1]
        bound = sha256_hex(shown.text.strip(":"))
        return [
            lambda: self.check_certificate(call.header("Client-Cert")),
            lambda: check_digest(bearer(call), bound, "the bearer token"),
            lambda: self.check_token(call, number),
        ]

    def check_certificate(self, given: str | None) -> None:
        """Raise unless this is a certificate in its time."""
        shown = self.cert.redeem(given, "header Client-Cert")
        not_before(self.now, self.starts[shown.number], "the certificate")

    def check_token(self, call: Call, number: int) -> None:
        """Raise unless the request carries the token that was given for it."""
        self.tokens.check(call)
        if number != self.row.taken + 1:
            raise Violation(Label.WRONG_VALUE, "the request token is for another request", field="X-Request-Token")

    def new_certificate(self, life_ms: int, lead_ms: int = 0) -> tuple[bytes, float]:
        """Issue a certificate for `life_ms`; its DER, and its end in virtual s. It takes the other's place after `lead_ms`."""
        self.starts.append(self.now + lead_ms)
        draw = self.chance("certificate")
        der = certificate(
            draw, f"client-{draw.hex(12)}", start=self.clock.now, life=timedelta(milliseconds=life_ms),
            key_bytes=round(self.knob("key_bytes")),
        )  # fmt: skip
        return der, self.cert.renew(field(der), life_ms, grace_ms=lead_ms).expires_at / 1000
