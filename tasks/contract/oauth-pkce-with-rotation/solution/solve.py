"""Keep every nonce and the newest key, attest each request, outlive the first token, and then go straight to the end."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Pairs = dict[str, str]
Answer = dict[str, Any]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Complete the session and hand in its receipt."""
    play(api, instruction, wait)


def hex_digest(*parts: str) -> str:
    """SHA-256 in hex over texts with nothing between them."""
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def s256(verifier: str) -> str:
    """The challenge of a verifier (RFC 7636 section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def attested(verifier: str, nonce: str, refreshes: int) -> str:
    """What an attestation covers."""
    return "|".join([verifier, nonce, str(refreshes)] if refreshes else [verifier, nonce])


@dataclass
class Kept:
    """What a session has given so far, when the last answer came, and the newest tokens."""

    nonces: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    refreshes: int = 0
    now: float = 0
    access: str = ""
    renewal: str = ""
    ends: float = 0

    def read(self, answer: httpx.Response) -> Answer:
        """An answer's body, with nonce, key and time kept; a refusal raises."""
        if answer.status_code != 428:
            answer.raise_for_status()
        got: Answer = answer.json()
        self.nonces.append(got["session_nonce"])
        self.keys += [got["signing_key"]] if "signing_key" in got else []
        self.now = float(answer.headers["X-Virtual-Time"])
        return got


def own_verifier(instruction: str) -> str:
    """A verifier of our own; a solution has no chance of its own, so it comes from the text."""
    return hex_digest(instruction, "1") + hex_digest(instruction, "2")


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    Places are authorize, consent, token, basic, wait, refresh, extra, introspect, complete, answer. `skip` leaves some out;
    `twice` does token or refresh once more, with what was used the first time.
    """

    before: Callable[[str, httpx.Client, Wait], object] = lambda place, api, wait: None
    fields: Callable[[str, Pairs], Pairs] = lambda place, fields: fields
    headers: Callable[[str, Pairs, list[str]], Pairs] = lambda place, headers, nonces: headers
    joined: Callable[[str, list[str]], str] = lambda place, parts: "".join(parts)
    attest: Callable[[str, str, int], str] = attested
    verifier: Callable[[str], str] = own_verifier
    challenge_of: Callable[[str], str] = s256
    key: Callable[[list[str]], bytes] = lambda keys: bytes.fromhex(keys[-1])
    signed: Callable[[bytes], bytes] = lambda body: body
    skip: tuple[str, ...] = ()
    twice: str = ""
    order: Callable[[list[str]], list[str]] = lambda paths: paths
    shift: int = 0
    hand_in: Callable[[Answer], str] = lambda last: last["receipt"]


@dataclass
class Line:
    """Sends the requests of a session, each with what its place demands."""

    api: httpx.Client
    wait: Wait
    habits: Habits
    verifier: str
    kept: Kept = field(default_factory=Kept)

    def send(
        self, place: str, method: str, path: str, body: bytes = b"", *, token: str = "", form: bool = False, sign: bool = False
    ) -> Answer:
        """The answer to one request; one that came too early is sent again."""
        self.habits.before(place, self.api, self.wait)
        nonces = self.kept.nonces
        given = {"X-Session-Nonce": nonces[-1], "X-Request-Sequence": str(len(nonces)), **(FORM if form else {})}
        given |= {"X-Previous-Nonce": nonces[-2]} if len(nonces) > 1 else {}
        given["X-Client-Attestation"] = hex_digest(self.habits.attest(self.verifier, nonces[-1], self.kept.refreshes))
        given |= {"Authorization": f"Bearer {token}"} if token else {}
        if sign:
            signed = self.habits.signed(body)
            given["X-Body-Signature"] = hmac.new(self.habits.key(self.kept.keys), signed, hashlib.sha256).hexdigest()
        headers = self.habits.headers(place, given, nonces)
        answer = self.api.request(method, path, content=body, headers=headers)
        if answer.status_code == 400 and "Retry-After" in answer.headers:
            self.wait(float(answer.headers["Retry-After"]))
            answer = self.api.request(method, path, content=body, headers=headers)
        return self.kept.read(answer)

    def proof(self, place: str, *parts: str) -> str:
        """The digest that a place demands."""
        return hex_digest(self.habits.joined(place, list(parts)))

    def outlive(self, requests: int, path: str, asked: Pairs) -> None:
        """Let the access token end and refresh it, if it does not live for so many requests more."""
        left = round(self.kept.ends - self.kept.now, 3)
        if left <= requests and "refresh" not in self.habits.skip:
            if left > 0:
                self.wait(left)
            self.refresh(path, asked)

    def refresh(self, path: str, asked: Pairs) -> None:
        """The next tokens."""
        self.exchange("refresh", path, grant_type="refresh_token", **asked, refresh_token=self.kept.renewal)

    def exchange(self, place: str, path: str, **form: str) -> None:
        """The tokens for a code or for a refresh token."""
        body = urlencode(self.habits.fields(place, form)).encode()
        for _ in range(1 + (self.habits.twice == place)):
            got = self.send(place, "POST", path, body, form=True)
            self.kept.refreshes += place == "refresh"
        self.kept.access, self.kept.renewal = got["access_token"], got["refresh_token"]
        self.kept.ends = self.kept.now + got["expires_in"]


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    habits = Habits(**changed)
    client_id, basic, extra = read_names(instruction)
    line = Line(api, wait, habits, habits.verifier(instruction))
    opened = line.kept.read(api.get("/.well-known/openid-configuration"))
    paths = habits.order([resource["path"] for resource in opened["resources"]])
    begin(line, opened, client_id, f"{basic} {extra}", habits.challenge_of(line.verifier))
    for path in paths[:2]:
        line.send("basic", "GET", path, token=line.kept.access)
    asked = {"client_id": client_id, "scope": f"{basic} {extra}"}
    if "wait" not in habits.skip:
        wait(line.kept.ends - line.kept.now)
    if "refresh" not in habits.skip:
        line.refresh(opened["token_endpoint"], asked)
    for path in paths[2:] if "extra" not in habits.skip else []:
        line.outlive(1, opened["token_endpoint"], asked)
        line.send("extra", "GET", path, token=line.kept.access)
    last = finish(line, opened, asked, anchor_slice(instruction, habits.shift))
    api.post("/submission", content=habits.hand_in(last))


def begin(line: Line, opened: Answer, client_id: str, scope: str, challenge: str) -> None:
    """Authorize, consent, and exchange the code for the first tokens."""
    asked = {"response_type": "code", "client_id": client_id, "scope": scope, "code_challenge": challenge}
    query = urlencode(line.habits.fields("authorize", {**asked, "code_challenge_method": "S256"}))
    nonce = line.send("authorize", "GET", f"{opened['authorization_endpoint']}?{query}")["consent_nonce"]
    consent = json.dumps({"consent_proof": line.proof("consent", nonce, challenge)}).encode()
    got = line.send("consent", "POST", opened["consent_endpoint"], consent)
    line.exchange(
        "token", opened["token_endpoint"], grant_type="authorization_code", client_id=client_id, code=got["code"],
        code_verifier=line.verifier, binding_proof=line.proof("token", got["code"], got["binding_nonce"]),
    )  # fmt: skip


def finish(line: Line, opened: Answer, asked: Pairs, anchor: str) -> Answer:
    """Introspect, complete, and answer the challenge: the last answer."""
    nonce = ""
    if "introspect" not in line.habits.skip:
        line.outlive(1, opened["token_endpoint"], asked)
        form = urlencode(line.habits.fields("introspect", {"token": line.kept.access})).encode()
        told = line.send("introspect", "POST", opened["introspection_endpoint"], form, form=True, sign=True)
        nonce = told["completion_nonce"] if told["active"] else ""

    def complete(place: str, **more: str) -> Answer:
        whole = {"anchor": anchor, "session_proof": line.proof("complete", opened["session_id"], nonce, anchor), **more}
        body = json.dumps(line.habits.fields(place, whole)).encode()
        return line.send(place, "POST", opened["completion_endpoint"], body, token=line.kept.access, sign=True)

    line.outlive(2, opened["token_endpoint"], asked)
    challenge = complete("complete")["challenge"]
    return complete("answer", cumulative_proof=line.proof("answer", *line.kept.nonces, challenge, anchor))


def read_names(instruction: str) -> tuple[str, str, str]:
    """Client id, and the two scopes."""
    client = re.search(r"client `([^`]+)`", instruction)
    scopes = re.search(r"and `scope` \(`(\S+) (\S+)`\)", instruction)
    assert client
    assert scopes
    return client[1], scopes[1], scopes[2]
