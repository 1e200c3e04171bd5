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
    """What a session has given so far, and when the last answer came."""

    nonces: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    refreshes: int = 0
    now: float = 0

    def read(self, answer: httpx.Response) -> dict[str, Any]:
        """An answer's body, with nonce, key and time kept; a refusal raises."""
        if answer.status_code != 428:
            answer.raise_for_status()
        got: dict[str, Any] = answer.json()
        self.nonces.append(got["session_nonce"])
        self.keys += [got["signing_key"]] if "signing_key" in got else []
        self.now = float(answer.headers["X-Virtual-Time"])
        return got


@dataclass
class Line:
    """Sends the requests of a session, each with what its place demands; the rest are seams."""

    api: httpx.Client
    wait: Wait
    verifier: str
    kept: Kept
    twice: str
    before: Callable[[str, httpx.Client, Wait], object]
    fields: Callable[[str, Pairs], Pairs]
    headers: Callable[[str, Pairs, list[str]], Pairs]
    joined: Callable[[str, list[str]], str]
    attest: Callable[[str, str, int], str]
    key: Callable[[list[str]], bytes]
    signed: Callable[[bytes], bytes]

    def send(
        self, place: str, method: str, path: str, body: bytes = b"", *, token: str = "", form: bool = False, sign: bool = False
    ) -> dict[str, Any]:
        """The answer to one request."""
        self.before(place, self.api, self.wait)
        nonces = self.kept.nonces
        given = {"X-Session-Nonce": nonces[-1], "X-Request-Sequence": str(len(nonces)), **(FORM if form else {})}
        given |= {"X-Previous-Nonce": nonces[-2]} if len(nonces) > 1 else {}
        given["X-Client-Attestation"] = hex_digest(self.attest(self.verifier, nonces[-1], self.kept.refreshes))
        given |= {"Authorization": f"Bearer {token}"} if token else {}
        if sign:
            given["X-Body-Signature"] = hmac.new(self.key(self.kept.keys), self.signed(body), hashlib.sha256).hexdigest()
        return self.kept.read(self.api.request(method, path, content=body, headers=self.headers(place, given, nonces)))

    def proof(self, place: str, *parts: str) -> str:
        """The digest that a place demands."""
        return hex_digest(self.joined(place, list(parts)))

    def exchange(self, place: str, path: str, **form: str) -> dict[str, Any]:
        """The tokens for a code or for a refresh token."""
        body = urlencode(self.fields(place, form)).encode()
        for _ in range(1 + (self.twice == place)):
            got = self.send(place, "POST", path, body, form=True)
            self.kept.refreshes += place == "refresh"
        return got


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    before: Callable[[str, httpx.Client, Wait], object] = lambda place, api, wait: None,
    fields: Callable[[str, Pairs], Pairs] = lambda place, fields: fields,
    headers: Callable[[str, Pairs, list[str]], Pairs] = lambda place, headers, nonces: headers,
    joined: Callable[[str, list[str]], str] = lambda place, parts: "".join(parts),
    attest: Callable[[str, str, int], str] = attested,
    challenge_of: Callable[[str], str] = s256,
    key: Callable[[list[str]], bytes] = lambda keys: bytes.fromhex(keys[-1]),
    signed: Callable[[bytes], bytes] = lambda body: body,
    skip: str = "",
    twice: str = "",
    order: Callable[[list[str]], list[str]] = lambda paths: paths,
    shift: int = 0,
    hand_in: Callable[[dict[str, Any]], str] = lambda last: last["receipt"],
) -> None:
    """The whole flow, with seams; places are authorize, consent, token, basic, refresh, extra, introspect, complete, answer.

    `skip` leaves out one place, `twice` does token or refresh once more, with what was used the first time.
    """
    client_id, basic, extra = read_names(instruction)
    verifier, kept = hex_digest(instruction, "1") + hex_digest(instruction, "2"), Kept()
    line = Line(api, wait, verifier, kept, twice, before, fields, headers, joined, attest, key, signed)
    found = kept.read(api.get("/.well-known/openid-configuration"))
    paths = order([resource["path"] for resource in found["resources"]])
    tokens = begin(line, found, client_id, basic, challenge_of(verifier))
    ends = kept.now + tokens["expires_in"]
    for path in paths[:2]:
        line.send("basic", "GET", path, token=tokens["access_token"])
    if skip != "wait":
        wait(ends - kept.now)
    if skip not in ("wait", "refresh"):
        asked = {"client_id": client_id, "scope": f"{basic} {extra}", "refresh_token": tokens["refresh_token"]}
        tokens = line.exchange("refresh", found["token_endpoint"], grant_type="refresh_token", **asked)
    for path in paths[2:] if skip != "extra" else []:
        line.send("extra", "GET", path, token=tokens["access_token"])
    last = finish(line, found, tokens["access_token"], anchor_slice(instruction, shift), introspect=skip != "introspect")
    api.post("/submission", content=hand_in(last))


def begin(line: Line, found: dict[str, Any], client_id: str, scope: str, challenge: str) -> dict[str, Any]:
    """Authorize, consent, and exchange the code: the first tokens."""
    asked = {"response_type": "code", "client_id": client_id, "scope": scope, "code_challenge": challenge}
    query = urlencode(line.fields("authorize", {**asked, "code_challenge_method": "S256"}))
    nonce = line.send("authorize", "GET", f"{found['authorization_endpoint']}?{query}")["consent_nonce"]
    consent = json.dumps({"consent_proof": line.proof("consent", nonce, challenge)}).encode()
    got = line.send("consent", "POST", found["consent_endpoint"], consent)
    return line.exchange(
        "token", found["token_endpoint"], grant_type="authorization_code", client_id=client_id, code=got["code"],
        code_verifier=line.verifier, binding_proof=line.proof("token", got["code"], got["binding_nonce"]),
    )  # fmt: skip


def finish(line: Line, found: dict[str, Any], access: str, anchor: str, *, introspect: bool) -> dict[str, Any]:
    """Introspect, complete, and answer the challenge: the last answer."""
    nonce = ""
    if introspect:
        form = urlencode(line.fields("introspect", {"token": access})).encode()
        nonce = line.send("introspect", "POST", found["introspection_endpoint"], form, form=True, sign=True)["completion_nonce"]

    def complete(place: str, **more: str) -> dict[str, Any]:
        whole = {"anchor": anchor, "session_proof": line.proof("complete", found["session_id"], nonce, anchor), **more}
        body = json.dumps(line.fields(place, whole)).encode()
        return line.send(place, "POST", found["completion_endpoint"], body, token=access, sign=True)

    challenge = complete("complete")["challenge"]
    return complete("answer", cumulative_proof=line.proof("answer", *line.kept.nonces, challenge, anchor))


def read_names(instruction: str) -> tuple[str, str, str]:
    """Client id, and the two scopes."""
    client = re.search(r"client `([^`]+)`", instruction)
    scopes = re.search(r"and `scope` \(`(\S+) (\S+)`\)", instruction)
    assert client
    assert scopes
    return client[1], scopes[1], scopes[2]
