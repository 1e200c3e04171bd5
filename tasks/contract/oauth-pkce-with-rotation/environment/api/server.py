"""A public client proves at every step that it is the one which began: PKCE, then attestation, rotation and step-up.

Discovery (RFC 8414), authorize with an S256 challenge (RFC 7636 section 4), consent to two scopes, a code for tokens that reach
as far as the first of them, two resources; then, once the access token has ended, a refresh to all that was consented to
(RFC 6749 section 6), two more resources, introspection (RFC 7662), and a completion that is challenged.
Every request costs 1 s. Consent nonce and challenge live 6 s, a code 8 s, each is used 1 s after its issue. Access tokens live
8 to 11 s by seed: the first is used for 2 s and must then be outlived, the second is last used when it is 5 s old, so that two
wasted requests always fit. The refresh token outlives its access token by 6 s and is used 1 s after that one's end: four wasted
requests fit, one that waits 5 s to be safe does not. The whole flow takes 18 to 21 s. At higher levels more resources need the
greater scope than one access token lives for, so that it must be outlived and refreshed a second time, and a third one.
As the sources say: scope asked for at a refresh stays within what was consented to, and none asked for means all of that
(RFC 6749 section 6); a token may reach less far than was asked, and its answer says so (3.3, 5.1); a code used twice ends the
tokens it gave (4.1.2); a replaced refresh token ends the newest tokens, too, so that the session is lost (RFC 9700 section
4.14.2). PKCE alone guards against a code of somebody else's (RFC 9700 section 2.1.1), so there is no `state`.
Where this differs from them: the code comes in the answer to the consent, not through a browser, so there is no redirect_uri;
discovery opens a session, gives paths and no issuer (RFC 8414 section 2), at OpenID Connect's address; a refresh is refused
while the access token lives, as no RFC asks; the client introspects its own token, where RFC 7662 has a resource server do so;
nonces, numbers, attestations, body signatures and binding proofs are the task's own.
Choices where the contract leaves one:
1. a refresh before the access token has ended is a planned 400 with Retry-After, which costs its second and nothing else;
2. no attestation can be checked before the verifier is known, so attestations begin with the token request;
3. request numbers run over all requests after discovery, second ones included: 11 of them, not upstream's 7;
4. a code ends with its use, a refresh token when it is replaced: a second use is EXPIRED_BEFORE_USE by revocation;
5. introspection is authorised by signature and attestation; the token that it asks about is in the form;
6. the challenge lives as long as a consent nonce, so one number is stated; the completion nonce has no end of its own;
7. the completion names the slice too, so that a wrong slice is WRONG_VALUE and not only a wrong proof;
8. resources come in the order that discovery lists, which is drawn; the 428 brings a new key on about half of the seeds;
9. the deliverable is `receipt`, drawn from the seed and given out by the answered completion alone.
Order of judgement: session open, headers present, steps taken; then windows and turn before bytes, values and absent fields.
"""

from collections.abc import Mapping

from worlds.contract.checks import bearer, check_digest, check_value, form, require_fields, sha256_hex
from worlds.contract.grants import Consent, TokenPair, check_challenge, check_parameters, check_verifier
from worlds.contract.judgement import validity_first
from worlds.contract.quotas import whole_seconds
from worlds.contract.sessions import PREVIOUS, RECEIPT_CHARS, SESSION_HEADERS, SIGNATURE, Session, SessionWorld
from worlds.contract.stepup import StepUp
from worlds.core.calls import Call, Reply, Unreadable, get, post, protocol

AREAS = ("accounts", "calendar", "invoices", "messages", "photos", "reports")
ENDPOINTS = {"authorization": "/oauth/authorize", "consent": "/oauth/consent", "token": "/oauth/token"}
ENDPOINTS |= {"introspection": "/oauth/introspect", "completion": "/api/complete"}
ATTESTATION = "X-Client-Attestation"
HEADERS = (*SESSION_HEADERS, PREVIOUS, ATTESTATION)


class OauthPkceWithRotation(SessionWorld):
    """One public client, four resources, one rotation."""

    def prepare(self) -> None:
        """Draw client, scopes, order of resources, life of access tokens, when keys change, and anchor."""
        self.client_id = f"client-{self.chance('client').hex(10)}"
        self.basic, self.extra = (f"{area}.read" for area in self.chance("scopes").sample(AREAS, 2))
        scopes = [self.basic, self.basic, *[self.extra] * round(self.knob("extra_resources"))]
        order = self.chance("order").sample([str(number) for number, _ in enumerate(scopes, start=1)], len(scopes))
        self.scope_of = dict(zip(order, scopes, strict=True))
        self.access_ms = self.knob_ms("access_seconds") + self.chance("life").seconds(0, 3)
        self.refresh_ms = self.access_ms + self.knob_ms("refresh_seconds")
        self.rekeyed_late = bool(self.chance("rekey").below(2))
        self.draw_slice()

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        lives = {name: f"{self.knob(name):g}" for name in ("consent_seconds", "code_seconds")}
        lives |= {"access_seconds": f"{self.access_ms / 1000:g}", "refresh_seconds": f"{self.refresh_ms / 1000:g}"}
        return {
            **self.slice_facts(), **lives, "client_id": self.client_id, "basic": self.basic, "extra": self.extra,
            "count": len(self.scope_of), "more": round(self.knob("extra_resources")),
            "receipt_chars": RECEIPT_CHARS, "request_seconds": self.manifest.cost_ms("request") // 1000,
        }  # fmt: skip

    @get("/.well-known/openid-configuration")
    def discover(self, call: Call) -> dict[str, object]:
        """A new session, the endpoints, and the resources in their order."""
        session = self.open_session()
        consent_ms, code_ms = self.knob_ms("consent_seconds"), self.knob_ms("code_seconds")
        self.code_challenge = self.binding_nonce = self.verifier = self.completion_nonce = ""
        self.consented, self.pair = Consent(self, consent_ms, code_ms), TokenPair(self, self.access_ms, self.refresh_ms)
        self.step_up, self.due = StepUp(self, consent_ms), list(self.scope_of)
        listed = [{"path": f"/api/resource/{name}", "scope": scope} for name, scope in self.scope_of.items()]
        endpoints = {f"{name}_endpoint": path for name, path in ENDPOINTS.items()}
        return session.answer({**endpoints, "session_id": session.id, "resources": listed})

    @get(ENDPOINTS["authorization"], query=("client_id", "code_challenge"), headers=SESSION_HEADERS)
    def authorize(self, call: Call) -> dict[str, object]:
        """A consent nonce, for a client that binds itself to a verifier."""
        session = self.enter(call)
        right = {"response_type": "code", "client_id": self.client_id, "code_challenge_method": "S256"}
        right["scope"] = f"{self.basic} {self.extra}"
        given = {name: call.query(name) for name in (*right, "code_challenge")}
        require_fields(given, "code_challenge")
        validity_first(
            lambda: session.check_place(call),
            lambda: check_parameters(given, right),
            lambda: check_challenge(given["code_challenge"]),
        )
        self.code_challenge = str(given["code_challenge"])
        return session.answer(self.consented.ask())

    @post(ENDPOINTS["consent"], headers=HEADERS[:-1])
    def consent(self, call: Call) -> dict[str, object]:
        """A code and its binding nonce, for the proof over the consent nonce."""
        session = self.enter(call, PREVIOUS)
        given = call.json()
        validity_first(
            lambda: self.consented.check(given.get("consent_proof"), "consent_proof", self.code_challenge),
            lambda: self.check_line(call, session),
        )
        self.binding_nonce = self.chance("binding").hex(32)
        return session.answer({**self.consented.grant(), "binding_nonce": self.binding_nonce})

    @post(ENDPOINTS["token"], headers=HEADERS)
    def token(self, call: Call) -> Reply:
        """Tokens for a code or for a refresh token, told apart by the grant type."""
        session, given = self.enter(call, PREVIOUS, ATTESTATION), form(call)
        return (self.refresh if given.get("grant_type") == "refresh_token" else self.exchange)(call, session, given)

    def exchange(self, call: Call, session: Session, given: Mapping[str, str]) -> Reply:
        """The first tokens, which reach less far than was consented to, for the code and the verifier, once."""
        require_fields(given, "code_verifier")
        bound = sha256_hex(self.consented.code, self.binding_nonce)
        validity_first(
            lambda: self.consented.redeem(given.get("code"), "code", self.pair.access, self.pair.refresh),
            lambda: check_parameters(given, {"grant_type": "authorization_code", "client_id": self.client_id}),
            lambda: check_verifier(given["code_verifier"], self.code_challenge),
            lambda: self.check_line(call, session, given["code_verifier"]),
            lambda: check_digest(given.get("binding_proof"), bound, "binding_proof"),
        )
        self.consented.spend()
        self.verifier = given["code_verifier"]
        return Reply(session.answer(self.pair.grant(self.basic), rekey=True))

    def refresh(self, call: Call, session: Session, given: Mapping[str, str]) -> Reply:
        """The next tokens, with the scope that is asked for, or else all of it, once the access token has ended."""
        asked = set(given.get("scope", f"{self.basic} {self.extra}").split())
        validity_first(
            lambda: self.pair.redeem_refresh(given.get("refresh_token"), "refresh_token"),
            lambda: check_parameters(given, {"client_id": self.client_id}),
            lambda: check_value(" ".join(asked - {self.extra}), self.basic, "scope"),
            lambda: self.check_line(call, session, self.verifier),
        )
        if early_ms := self.pair.early_ms:
            retry = (("Retry-After", str(whole_seconds(early_ms))),)
            return protocol(400, "too_early: the access token has not ended yet", headers=retry)
        scope = [scope for scope in (self.basic, self.extra) if scope in asked]
        return Reply(session.answer(self.pair.rotate(*scope), rekey=True))

    @get("/api/resource/{name}", headers=("Authorization", *HEADERS))
    def resource(self, call: Call) -> dict[str, object]:
        """The next resource, if the token reaches so far."""
        name = call.params["name"]
        if name not in self.scope_of:
            raise Unreadable("there is nothing of this name")
        session = self.enter(call, PREVIOUS, ATTESTATION)
        validity_first(
            lambda: self.pair.access.redeem(bearer(call), "the bearer token"),
            lambda: self.check_due(name),
            lambda: self.check_line(call, session, self.verifier),
            lambda: self.pair.check_scope(self.scope_of[name]),
        )
        self.due.remove(name)
        return session.answer({"resource": name, "content": self.chance(f"resource-{name}").base64(24)})

    @post(ENDPOINTS["introspection"], headers=(*HEADERS, SIGNATURE))
    def introspect(self, call: Call) -> dict[str, object]:
        """The completion nonce and the next key, once all resources are fetched."""
        session = self.enter(call, PREVIOUS, ATTESTATION, SIGNATURE)
        self.require_step("step 7", taken=not self.due)
        given = form(call)
        validity_first(
            lambda: self.pair.access.redeem(given.get("token"), "field token"),
            lambda: self.check_line(call, session, self.verifier),
            lambda: session.check_signature(call),
        )
        self.completion_nonce = self.chance("completion").hex(32)
        said = {"active": True, "client_id": self.client_id, "scope": " ".join(self.pair.scope)}
        return session.answer({**said, "completion_nonce": self.completion_nonce}, rekey=True)

    @post(ENDPOINTS["completion"], headers=("Authorization", *HEADERS, SIGNATURE))
    def complete(self, call: Call) -> Reply:
        """A challenge at first, and the receipt once it is answered."""
        session = self.enter(call, PREVIOUS, ATTESTATION, SIGNATURE)
        self.require_step("step 8", taken=bool(self.completion_nonce))
        given = call.json()
        proof = sha256_hex(session.id, self.completion_nonce, self.slice)
        validity_first(
            lambda: self.pair.access.redeem(bearer(call), "the bearer token"),
            lambda: self.step_up.check(session, given.get("cumulative_proof"), "cumulative_proof", self.slice),
            lambda: self.check_line(call, session, self.verifier),
            lambda: session.check_signature(call),
            lambda: check_value(given.get("anchor"), self.slice, "anchor"),
            lambda: check_digest(given.get("session_proof"), proof, "session_proof"),
        )
        if not self.step_up.asked:
            return self.step_up.ask(session, rekey=self.rekeyed_late)
        return Reply(session.answer({"receipt": self.receipt()}))

    def check_line(self, call: Call, session: Session, verifier: str = "") -> None:
        """Raise unless number, nonce and the nonce before are right, and with a verifier the attestation too."""
        session.check_place(call)
        session.check_previous(call)
        if verifier:
            count = [str(self.pair.refreshes)] if self.pair.refreshes else []
            attested = "|".join([verifier, session.nonces.current, *count])
            check_value(call.header(ATTESTATION), sha256_hex(attested), f"header {ATTESTATION}")
