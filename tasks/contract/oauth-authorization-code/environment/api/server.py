"""An authorization code grant is a relay: every step signs, counts and carries what the step before gave, within seconds.

discover, authorize, consent, token, then two or three resources, each answered 428 first (RFC 6585 section 3) and served on a
second request that answers the challenge. `state` and code are those of RFC 6749 sections 4.1 and 10.12, the token that of
RFC 6750; session, numbers, nonces and signing keys are `worlds.contract.sessions`, challenges `worlds.contract.stepup`.
Every request costs 1 s. Consent nonce, code and challenge live 3 s and are used 1 s after they were issued: one detour in
between fits, two do not. The token lives 8 to 10 s by seed and is last used when it is 4 s old, or 6 s with three resources:
one wasted request fits on every seed. So nothing depends on how fast an agent thinks, only on what it sends.
Choices where the contract leaves one:
1. request numbers run over all requests after discover, second ones included: 7 or 9 of them, not upstream's 6;
2. a code is ended by its use: a second use is EXPIRED_BEFORE_USE by revocation, and the token it gave stays;
3. the challenge is answered by the cumulative proof, which takes it in: one header instead of two that say the same;
4. the session nonce goes in a header only: `previous_nonce` in the query and `chain_nonce` in the form would be it once more;
5. resources come in the order that discover lists, which is drawn; any other order is VERSION_CONFLICT;
6. consent brings a new signing key on all seeds, authorize on about half of them;
7. a second discover ends the session and is VERSION_CONFLICT, the one after it opens a new one;
8. authorize and consent may be repeated: that gives a new nonce or code, ends the one before, and costs what it costs;
9. the deliverable is `receipt`, drawn from the seed and given out with the last resource alone.
Order of judgement: session open, steps taken, headers and fields present; then windows and turn before bytes and values.
"""

from worlds.contract.anchors import SLICE, draw_marked
from worlds.contract.checks import bearer, check_digest, check_value, form, require_fields, require_headers, sha256_hex
from worlds.contract.credentials import Credential
from worlds.contract.grants import Consent, check_parameters
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.mangling import mangled
from worlds.contract.sessions import RECEIPT_CHARS, SESSION_HEADERS, SIGNATURE, SessionWorld
from worlds.contract.stepup import StepUp
from worlds.core.calls import Call, Reply, Unreadable, get, post

STATE_BYTES, TOKEN_BYTES = 149, 47
TAIL = 8
"""Characters of the state that X-Auth-Proof carries."""

PROOF = "X-Auth-Proof"
CUMULATIVE = "X-Cumulative-Proof"
GET_HEADERS = (*SESSION_HEADERS, PROOF)
POST_HEADERS = (*GET_HEADERS, SIGNATURE)


class OauthAuthorizationCode(SessionWorld):
    """One grant, and the resources behind it."""

    def prepare(self) -> None:
        """Draw client, state, resources, when keys change, and anchor."""
        count, order = 2 + self.chance("count").below(2), self.chance("order")
        self.client_id = f"client-{self.chance('client').hex(10)}"
        self.state = risky_base64(self.chance("state"), STATE_BYTES)
        self.resources = order.sample([f"resource-{number + 1}" for number in range(count)], count)
        self.token_ms = self.knob_ms("token_seconds") + 1000 * self.chance("life").below(3)
        self.rekeyed_early = self.chance("rekey").below(2) == 0
        self.anchor, self.marker = draw_marked(self.chance("anchor"))
        self.part = self.anchor.after(self.marker)

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            "anchor": self.anchor.text, "marker": self.marker, "slice": SLICE, "tail": TAIL, "receipt_chars": RECEIPT_CHARS,
            "client_id": self.client_id, "state": self.state, "request_seconds": self.manifest.cost_ms("request") // 1000,
            "step_seconds": f"{self.knob('step_seconds'):g}", "token_seconds": f"{self.token_ms / 1000:g}",
        }  # fmt: skip

    @get("/oauth/discover")
    def discover(self, call: Call) -> dict[str, object]:
        """A new session: its id, first nonce and key, and the resources in their order."""
        session = self.open_session()
        step_ms = self.knob_ms("step_seconds")
        self.consented, self.step_up = Consent(self, step_ms, step_ms), StepUp(self, step_ms)
        self.access, self.due = Credential(self, "access_token"), list(self.resources)
        paths = [f"/api/protected/{name}" for name in self.due]
        return session.answer({"session_id": session.id, "resources": paths}, rekey=True)

    @get("/authorize", query=("response_type", "client_id", "state", "session_id"), headers=GET_HEADERS)
    def authorize(self, call: Call) -> dict[str, object]:
        """A consent nonce, for the right request with the exact state."""
        session = self.enter(call, PROOF)
        right = {"response_type": "code", "client_id": self.client_id, "session_id": session.id}
        given = {name: call.query(name) or "" for name in (*right, "state")}
        require_fields(given, *given)
        validity_first(
            lambda: session.check_place(call),
            lambda: self.check_state(given["state"]),
            lambda: self.check_auth(call),
            lambda: check_parameters(given, right),
        )
        return session.answer(self.consented.ask(), rekey=self.rekeyed_early)

    @post("/oauth/consent", headers=POST_HEADERS)
    def consent(self, call: Call) -> dict[str, object]:
        """A code, for the proof over the consent nonce."""
        session = self.enter(call, PROOF, SIGNATURE)
        self.consented.require()
        given = call.json()
        require_fields(given, "consent_proof")
        validity_first(
            lambda: self.consented.check(given["consent_proof"], "consent_proof", self.state),
            lambda: session.check_place(call),
            lambda: session.check_signature(call),
            lambda: self.check_auth(call),
        )
        return session.answer(self.consented.grant(), rekey=True)

    @post("/token", headers=POST_HEADERS)
    def token(self, call: Call) -> dict[str, object]:
        """An access token, for the code, once."""
        session = self.enter(call, PROOF, SIGNATURE)
        given = form(call)
        require_fields(given, "grant_type", "code", "client_id", "binding_proof")
        bound = sha256_hex(self.consented.code, self.consented.nonce, self.state)
        validity_first(
            lambda: self.consented.redeem(given["code"], "field code"),
            lambda: session.check_place(call),
            lambda: session.check_signature(call),
            lambda: self.check_auth(call),
            lambda: check_parameters(given, {"grant_type": "authorization_code", "client_id": self.client_id}),
            lambda: check_digest(given["binding_proof"], bound, "field binding_proof"),
        )
        self.consented.spend()
        self.access.renew(risky_base64(self.chance("access"), TOKEN_BYTES), self.token_ms)
        return session.answer({"access_token": self.access.text, "token_type": "Bearer", "expires_in": self.token_ms // 1000})

    @get("/api/protected/{name}", headers=("Authorization", *GET_HEADERS, CUMULATIVE))
    def resource(self, call: Call) -> Reply:
        """A challenge at first, and the resource once it is answered."""
        name = call.params["name"]
        if name not in self.resources:
            raise Unreadable("there is no such resource")
        session = self.enter(call, PROOF)
        if self.step_up.asked:
            require_headers(call, CUMULATIVE)
        validity_first(
            lambda: self.access.redeem(bearer(call), "the bearer token"),
            lambda: self.step_up.check(session, call.header(CUMULATIVE), f"header {CUMULATIVE}", self.part),
            lambda: self.check_due(name),
            lambda: session.check_place(call),
            lambda: self.check_auth(call),
        )
        return Reply(session.answer(self.serve(name))) if self.step_up.asked else self.step_up.ask(session)

    def serve(self, name: str) -> dict[str, object]:
        """What an answered challenge gives: the resource, and with the last one the receipt."""
        self.step_up.close()
        self.due.remove(name)
        body: dict[str, object] = {"resource": name, "content": self.chance(name).base64(24)}
        if not self.due:
            body["receipt"] = self.receipt()
        return body

    def check_state(self, given: str) -> None:
        """Raise unless the state arrived byte for byte."""
        broken = mangled("state", self.state.encode(), given.encode("utf-8", "replace"), "state is not as issued")
        if broken is not None:
            raise broken

    def check_auth(self, call: Call) -> None:
        """Raise unless X-Auth-Proof holds slice and end of the state."""
        check_value(call.header(PROOF), f"{self.part}:{self.state[-TAIL:]}", f"header {PROOF}")
