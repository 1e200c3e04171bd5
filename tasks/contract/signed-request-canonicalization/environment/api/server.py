"""One request has one canonical form, and the signature covers it: what is signed must be what is sent.

Discovery gives a token and a marker; signing-params take both and give keys, fixed headers, query and the first of five orders.
An order names method, path, key, nonce and body; each phase but the last answers a planned 428 (RFC 6585 section 3) with the
next order. Every phase is verified against the real request: its method, raw path, raw query, headers and body.
Requests are awkward on purpose (worlds.contract.awkward): inner double spaces, names that begin other names, percent-encoded
paths, reserved characters, a name given twice, UTF-8, and parameters in no order.
The canonical request is nearly that of AWS Signature Version 4: method, path, sorted query, headers, list of their names, body
digest. Where it differs: the key is a secret given as it is, not derived by date, region and service; what is signed is the
canonical request itself, with no scope and no time; the path is taken as it stands. RFC 9421 signs another base (section 2.5),
with parameters of the signature in it. Proofs, bindings and the second MAC are the task's own.
A request costs 0.5 s; windows are 8 s for discovery, then 4, 3, 3, 3 and 2 s for the nonces, each half a second longer on some
seeds. A prepared client uses an order 0.5 s after it came; the last one bears two detours, and a wait of 2 s loses it.
At higher levels a nonce works only from some time after it came, and lives for a second or a little more from then on: sent at
once it comes too early.
Choices where the contract leaves one:
1. two MACs: the signature is keyed with the ASCII text of the secret in every phase, the body HMAC with the text in phases 1
   and 2 and with the bytes that its hex stands for in 3 to 5. Orders name the key: two of the four changes of phase rotate it;
2. discovering again gives the same token and no new time; taking the parameters twice is VERSION_CONFLICT, so nothing restarts;
3. a nonce of an earlier order is EXPIRED_BEFORE_USE (its use ended it), one never issued is MUTATED_TOKEN;
4. what verifies but is not what was ordered (method, path, query, headers, body) is WRONG_VALUE, so integrity comes before it;
5. the slice is WRONG_VALUE with the parameters, and part of the binding (WRONG_HASH) of every phase;
6. a stage that does not exist is stray; the deliverable is `receipt`, given out by the fifth phase alone.
Order of judgement for a phase: headers present, sequence, nonce (given out, window, bytes), MACs, digests, the rest.
"""

from bisect import bisect

from worlds.contract.anchors import SLICE, draw_marked
from worlds.contract.awkward import draw_headers, draw_path, draw_query, draw_text
from worlds.contract.checks import check_digest, check_header, check_hmac, check_turn, check_value, require_headers, sha256_hex
from worlds.contract.contracts import Contract
from worlds.contract.credentials import Credential
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.signing import (
    SCHEME,
    Authorization,
    canonical_parameters,
    canonical_query,
    canonical_request,
    read_authorization,
    signed_list,
)
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post, protocol, put

KEYS = 3
STAGES = ("submit", "verify", "verify", "finalize", "finalize")
OWN = ("X-Sequence", "X-Nonce", "X-Binding", "X-Proof", "X-Body-HMAC")
"""Headers that a client computes, signed beside the fixed ones."""

TEXT_KEY_PHASES, RECEIPT_CHARS, SECRET_CHARS = 2, 48, 64
SIGNED = ("Authorization", *OWN)


class SignedRequestCanonicalization(ContractWorld):
    """Five phases, each signed."""

    starts_at: int
    """From when on the newest nonce works (virtual ms)."""

    def prepare(self) -> None:
        """Draw marker, token, keys and when they rotate, fixed headers, query and orders."""
        self.anchor, self.marker = draw_marked(self.chance("anchor"))
        self.discovery_text = self.chance("discovery").base64(32)
        self.discovery: Contract | None = None
        draw = self.chance("keys")
        self.keys = {f"key-{draw.hex(8)}": draw.hex(SECRET_CHARS) for _ in range(KEYS)}
        rotations = sorted(self.chance("rotation").sample(range(1, len(STAGES)), KEYS - 1))
        self.key_ids = [list(self.keys)[bisect(rotations, phase)] for phase in range(len(STAGES))]
        self.fixed = draw_headers(self.chance("headers"))
        self.query = draw_query(self.chance("query"))
        draw = self.chance("orders")
        self.orders = [
            {"method": draw.choice(("POST", "PUT")), "path": draw_path(draw, f"/api/{stage}"), "body": draw_text(draw)}
            for stage in STAGES
        ]
        self.nonces = Credential(self, "nonce")
        self.done, self.proof = 0, sha256_hex(self.discovery_text)

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            "anchor": self.anchor.text, "slice": SLICE, "phases": len(STAGES), "own": OWN, "scheme": SCHEME,
            "secret_chars": SECRET_CHARS, "text_key_phases": TEXT_KEY_PHASES,
            "receipt_chars": RECEIPT_CHARS, "request_seconds": self.manifest.cost_ms("request") / 1000,
        }  # fmt: skip

    @get("/api/discover")
    def discover(self, call: Call) -> dict[str, object]:
        """Token and marker; the first call starts the token's time."""
        if self.discovery is None:
            self.discovery = self.issue("discovery_token", self.discovery_text, self.life_ms("discovery_seconds"))
        ends = self.discovery.expires_at / 1000
        return {"discovery_token": self.discovery_text, "expires_at": ends, "marker": self.marker}

    @get("/api/signing-params", headers=("X-Discovery-Token", "X-Seed-Anchor"))
    def params(self, call: Call) -> dict[str, object]:
        """Keys, fixed headers, query and the first order, once."""
        found = self.discovery
        if found is None:
            raise Violation(Label.MISSING_CONSTRAINT, "discovery must come first", field="discovery")
        if self.nonces.current:
            raise Violation(Label.VERSION_CONFLICT, "the parameters were given already", status=409)
        validity_first(
            lambda: self.redeem(found, call.header("X-Discovery-Token"), "header X-Discovery-Token"),
            lambda: check_header(call, "X-Seed-Anchor", self.anchor.after(self.marker)),
        )
        return {"keys": self.keys, "headers": self.fixed, "query": self.query, "order": self.order()}

    @post("/api/{stage}/{ref}", headers=SIGNED)
    def posted(self, call: Call) -> Reply:
        """A phase by POST."""
        return self.act(call)

    @put("/api/{stage}/{ref}", headers=SIGNED)
    def placed(self, call: Call) -> Reply:
        """A phase by PUT."""
        return self.act(call)

    def act(self, call: Call) -> Reply:
        """The next phase, if it is signed as it stands and is what was ordered."""
        if call.params["stage"] not in STAGES:
            raise Unreadable("there is no such stage")
        if self.deliverable is not None:
            raise Violation(Label.VERSION_CONFLICT, "all orders are carried out", status=409)
        require_headers(call, *SIGNED, *(name for name, _ in self.fixed))
        given = read_authorization(call.header("Authorization"))
        if given is None:
            raise Violation(Label.MISSING_CONSTRAINT, "Authorization must be in the form that was told", field="Authorization")
        check_turn(call.header("X-Sequence"), self.done + 1, "header X-Sequence")
        validity_first(
            lambda: self.redeem_nonce(call.header("X-Nonce")),
            lambda: self.verify(call, given),
            lambda: self.compare(call),
        )
        self.done, self.proof = self.done + 1, sha256_hex(self.proof, given.signature)
        if self.done < len(STAGES):
            return protocol(428, "one more order is left", body={"order": self.order()})
        receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.deliverable = receipt.encode()
        return Reply({"receipt": receipt})

    def redeem_nonce(self, given: str | None) -> None:
        """Raise unless this is the newest nonce, in its window, which may begin some time after it was given out."""
        made = self.nonces.redeem(given, "header X-Nonce", missing=Label.MISSING_CONSTRAINT)
        if self.now < self.starts_at:
            raise made.contract.expired(self.now, rule="header X-Nonce does not work yet")

    def verify(self, call: Call, given: Authorization) -> None:
        """Check both MACs over the real request, then both digests."""
        key_id, names = self.key_ids[self.done], (*OWN, *(name for name, _ in self.fixed))
        if (given.key_id, given.signed) != (key_id, signed_list(names)):
            raise Violation(Label.SIGNATURE_MISMATCH, "Authorization must name the ordered key and all headers", field="KeyId")
        text = self.keys[key_id]
        check_hmac(given.signature, text.encode(), canonical_request(call.request, names).encode(), "the signature")
        body_key = text.encode() if self.done < TEXT_KEY_PHASES else bytes.fromhex(text)
        check_hmac(call.header("X-Body-HMAC"), body_key, call.body, "header X-Body-HMAC")
        bound = f"{self.nonces.text}:{self.anchor.after(self.marker)}:{self.done + 1}"
        check_digest(call.header("X-Binding"), sha256_hex(bound), "header X-Binding")
        check_digest(call.header("X-Proof"), self.proof, "header X-Proof")

    def compare(self, call: Call) -> None:
        """Check that the request is the one that was ordered."""
        order, request = self.orders[self.done], call.request
        check_value(request.method, order["method"], "the method")
        check_value(request.path.decode("latin-1"), order["path"], "the path")
        check_value(canonical_query(request.query), canonical_parameters(self.query), "the query")
        for name, value in self.fixed:
            check_header(call, name, value)
        check_value(sha256_hex(call.body), sha256_hex(order["body"]), "the body")

    def order(self) -> dict[str, object]:
        """The order that is due, with a fresh nonce."""
        lives = ("nonce_seconds", *["challenge_seconds"] * (len(STAGES) - 2), "final_seconds")
        rest_ms = self.chance("rests").seconds(0, round(self.knob("rest_seconds")))
        self.starts_at = self.now + rest_ms
        nonce = self.nonces.renew(self.chance("nonce").base64(24), rest_ms + self.life_ms(lives[self.done]))
        return {
            "sequence": self.done + 1, **self.orders[self.done], "key_id": self.key_ids[self.done],
            "nonce": self.nonces.text, "starts_at": self.starts_at / 1000, "expires_at": nonce.expires_at / 1000,
        }  # fmt: skip

    def life_ms(self, knob: str) -> int:
        """How long something that is issued now lives."""
        return self.knob_ms(knob) + 500 * self.chance("lives").below(2)
