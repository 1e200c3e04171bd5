"""An authorization code grant is a relay: every step signs, counts and carries what the step before gave, within seconds.

discover, authorize, consent, token (RFC 6749 section 4.1), then two or three resources behind a bearer token (RFC 6750 section
2.1), each answered 428 first (RFC 6585 section 3) and served on a second request that answers the challenge. Session, numbers,
nonces and signing keys are `worlds.contract.sessions`, challenges `worlds.contract.stepup`.
As RFC 6749 says: the client makes up `state`, the server gives it back, and it is the client that compares (sections 4.1.1,
4.1.2, 10.12); redirect_uri is the registered one, query and all (3.1.2), and comes again with the code (4.1.3); a code used
twice is refused and ends the token that it gave (4.1.2).
Two redirects reach the client, in an order by seed: the answer to its request, and one that somebody else set off, with a code
and a state of theirs. Only comparing states tells them apart; a client that takes the other code is WRONG_VALUE.
Every request costs 1 s. Consent nonce, code and challenge live 3 s and are used 1 s after they were issued: one detour in
between fits, two do not. The token lives 8 to 10 s by seed and is last used when it is 4 s old, or 6 s with three resources:
one wasted request fits on every seed. So nothing depends on how fast an agent thinks, only on what it sends.
At higher levels there are more resources than one token lives for: the grant is to be run again between two of them, in the
same session, and not between a challenge and its answer.
Where this differs from its sources: there is no browser, so both redirects are told in the answer to the consent, which the
client gives itself by a proof; the server demands what the RFC recommends, state, and gives it a form, so that bytes lost on
the way show; session, numbers, nonces, proofs and signatures are the task's own, with no counterpart in the RFC.
Choices where the contract leaves one:
1. request numbers run over all requests after discover, second ones included: 7 or 9 of them, not upstream's 6;
2. a code is ended by its use: a second use is EXPIRED_BEFORE_USE by revocation;
3. the challenge is answered by the cumulative proof, which takes it in: one header instead of two that say the same;
4. the session nonce goes in a header only: `previous_nonce` in the query and `chain_nonce` in the form would be it once more;
5. resources come in the order that discover lists, which is drawn; any other order is VERSION_CONFLICT;
6. consent brings a new signing key on all seeds, authorize on about half of them;
7. a second discover ends the session and is VERSION_CONFLICT, the one after it opens a new one;
8. authorize and consent may be repeated: that gives a new nonce or code, ends the one before, and costs what it costs;
9. the state is that of the first authorize that was served: proofs over another are WRONG_HASH or WRONG_VALUE, and so is a
   later authorize with another;
10. the deliverable is `receipt`, drawn from the seed and given out with the last resource alone.
Order of judgement: session open, headers present; then windows and turn before bytes, values and absent fields.
"""

import re
from urllib.parse import quote

from worlds.contract.anchors import SLICE, draw_marked
from worlds.contract.checks import bearer, check_digest, check_value, form, require_fields, sha256_hex
from worlds.contract.credentials import Credential
from worlds.contract.grants import Consent, check_parameters
from worlds.contract.hazards import risky_base64
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.sessions import RECEIPT_CHARS, SESSION_HEADERS, SIGNATURE, SessionWorld
from worlds.contract.stepup import StepUp
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post

TOKEN_BYTES = 47
STATE, STATE_CHARS, STATE_BYTES = "(?=.*[+])(?=.*/)[A-Za-z0-9+/]{200}", 200, 150
"""What a state looks like, and how many bytes make one: it holds a + and a /, so that it must be encoded in a query."""

TAIL = 8
"""Characters of the state that X-Auth-Proof carries."""

PROOF = "X-Auth-Proof"
CUMULATIVE = "X-Cumulative-Proof"
GET_HEADERS = (*SESSION_HEADERS, PROOF)
POST_HEADERS = (*GET_HEADERS, SIGNATURE)


class OauthAuthorizationCode(SessionWorld):
    """One grant, and the resources behind it."""

    def prepare(self) -> None:
        """Draw client, resources, when keys change, where the foreign redirect stands, and anchor."""
        count, order = round(self.knob("resources")) + self.chance("count").below(2), self.chance("order")
        self.client_id = f"client-{self.chance('client').hex(10)}"
        self.redirect_uri = (
            f"https://{self.chance('site').hex(8)}.example/callback?tenant={self.chance('tenant').between(10, 99)}"
        )
        self.direction = self.chance("foreign-first").choice((1, -1))
        self.resources = order.sample([f"resource-{number + 1}" for number in range(count)], count)
        self.token_ms = self.knob_ms("token_seconds") + self.chance("life").seconds(0, 2)
        self.rekeyed_early = bool(self.chance("rekey").below(2))
        self.anchor, self.marker = draw_marked(self.chance("anchor"))
        self.part = self.anchor.after(self.marker)

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        return {
            "anchor": self.anchor.text, "marker": self.marker, "slice": SLICE, "tail": TAIL, "receipt_chars": RECEIPT_CHARS,
            "client_id": self.client_id, "redirect_uri": self.redirect_uri, "state_chars": STATE_CHARS,
            "count": len(self.resources), "request_seconds": self.manifest.cost_ms("request") // 1000,
            "step_seconds": f"{self.knob('step_seconds'):g}", "token_seconds": f"{self.token_ms / 1000:g}",
        }  # fmt: skip

    @get("/oauth/discover")
    def discover(self, call: Call) -> dict[str, object]:
        """A new session: its id, first nonce and key, and the resources in their order."""
        session = self.open_session()
        step_ms = self.knob_ms("step_seconds")
        self.consented, self.step_up = Consent(self, step_ms, step_ms), StepUp(self, step_ms)
        self.access, self.due = Credential(self, "access_token"), list(self.resources)
        self.state = self.foreign_code = ""
        paths = [f"/api/protected/{name}" for name in self.due]
        return session.answer({"session_id": session.id, "resources": paths}, rekey=True)

    @get("/authorize", query=("response_type", "client_id", "redirect_uri", "state", "session_id"), headers=GET_HEADERS)
    def authorize(self, call: Call) -> dict[str, object]:
        """A consent nonce, for the right request; the state is kept as it came."""
        session = self.enter(call, PROOF)
        right = {"response_type": "code", "client_id": self.client_id, "redirect_uri": self.redirect_uri}
        right["session_id"] = session.id
        given = {name: call.query(name) or "" for name in (*right, "state")}
        require_fields(given, *given)
        validity_first(
            lambda: session.check_place(call),
            lambda: check_state(given["state"], self.state),
            lambda: self.check_auth(call, given["state"]),
            lambda: check_parameters(given, right),
        )
        self.state = given["state"]
        return session.answer(self.consented.ask(), rekey=self.rekeyed_early)

    @post("/oauth/consent", headers=POST_HEADERS)
    def consent(self, call: Call) -> dict[str, object]:
        """What reaches the client's redirect_uri, a code among it, for the proof over the consent nonce."""
        session = self.enter(call, PROOF, SIGNATURE)
        given = call.json()
        validity_first(
            lambda: self.consented.check(given.get("consent_proof"), "consent_proof", self.state),
            lambda: session.check_place(call),
            lambda: session.check_signature(call),
            lambda: self.check_auth(call),
        )
        granted = self.consented.grant()
        return session.answer({"redirects": self.redirects(), "deadline": granted["deadline"]}, rekey=True)

    def redirects(self) -> list[str]:
        """The answer to the client's request, and one to somebody else's, whose code and state are theirs."""
        draw = self.chance("foreign")
        self.foreign_code, foreign_state = risky_base64(draw, TOKEN_BYTES), risky_base64(draw, STATE_BYTES)
        answers = [(self.consented.code, self.state), (self.foreign_code, foreign_state)]
        both = [f"{self.redirect_uri}&code={quote(code, safe='')}&state={quote(state, safe='')}" for code, state in answers]
        return both[:: self.direction]

    @post("/token", headers=POST_HEADERS)
    def token(self, call: Call) -> dict[str, object]:
        """An access token, for the code, once."""
        session = self.enter(call, PROOF, SIGNATURE)
        given = form(call)
        right = {"grant_type": "authorization_code", "redirect_uri": self.redirect_uri, "client_id": self.client_id}
        bound = sha256_hex(self.consented.code, self.consented.nonce, self.state)
        validity_first(
            lambda: self.redeem_code(given.get("code")),
            lambda: session.check_place(call),
            lambda: session.check_signature(call),
            lambda: self.check_auth(call),
            lambda: check_parameters(given, right),
            lambda: check_digest(given.get("binding_proof"), bound, "field binding_proof"),
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

    def redeem_code(self, given: str | None) -> None:
        """Raise unless this is the code of the client's own request, in its window and unused."""
        if self.foreign_code and given == self.foreign_code:
            raise Violation(Label.WRONG_VALUE, "field code is of a redirect with another state", field="code")
        self.consented.redeem(given, "field code", self.access)

    def check_auth(self, call: Call, state: str | None = None) -> None:
        """Raise unless X-Auth-Proof holds slice and end of the state, by default the one that was kept."""
        check_value(call.header(PROOF), f"{self.part}:{(state or self.state)[-TAIL:]}", f"header {PROOF}")


def check_state(given: str, before: str) -> None:
    """Raise WRONG_VALUE unless this can be a client's state, and is the one of the grants `before` where there were any."""
    if not re.fullmatch(STATE, given):
        raise Violation(Label.WRONG_VALUE, "state has the wrong form", field="state")
    if before and given != before:
        raise Violation(Label.WRONG_VALUE, "state is not the one of the grant before", field="state")
