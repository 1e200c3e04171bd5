"""Keep every nonce and the newest key, number every request, sign what is sent, and go straight ahead."""

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
FORM = "application/x-www-form-urlencoded"


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Fetch all resources and hand in the receipt."""
    play(api, instruction, wait)


@dataclass
class Kept:
    """What a session has given so far."""

    nonces: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def read(self, answer: httpx.Response) -> dict[str, Any]:
        """An answer's body, with its nonce and key kept; a refusal raises."""
        if answer.status_code != 428:
            answer.raise_for_status()
        got: dict[str, Any] = answer.json()
        self.nonces.append(got["session_nonce"])
        self.keys += [got["signing_key"]] if "signing_key" in got else []
        return got


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    before: Callable[[str, httpx.Client, Wait], object] = lambda place, api, wait: None,
    query: Callable[[Pairs], str] = urlencode,
    fields: Callable[[str, Pairs], Pairs] = lambda place, fields: fields,
    headers: Callable[[str, Pairs, list[str]], Pairs] = lambda place, headers, nonces: headers,
    joined: Callable[[str, list[str]], str] = lambda place, parts: "".join(parts),
    key: Callable[[list[str]], bytes] = lambda keys: bytes.fromhex(keys[-1]),
    signed: Callable[[bytes], bytes] = lambda body: body,
    skip: str = "",
    exchanges: int = 1,
    order: Callable[[list[str]], list[str]] = lambda paths: paths,
    shift: int = 0,
    hand_in: Callable[[dict[str, Any]], str] = lambda last: last["receipt"],
) -> None:
    """The whole flow, with seams; places are authorize, consent, token, resource and answer (to a challenge)."""
    anchor, state, client_id = anchor_slice(instruction, shift), read_state(instruction), read_client(instruction)
    kept = Kept()
    found = kept.read(api.get("/oauth/discover"))

    def proof(place: str, *parts: str) -> str:
        return hashlib.sha256(joined(place, list(parts)).encode()).hexdigest()

    def send(place: str, method: str, path: str, body: bytes = b"", **more: str) -> dict[str, Any]:
        given = {"X-Session-Nonce": kept.nonces[-1], "X-Request-Sequence": str(len(kept.nonces)), **header_names(more)}
        given["X-Auth-Proof"] = f"{anchor}:{state[-8:]}"
        if method == "POST":
            given["X-Body-Signature"] = hmac.new(key(kept.keys), signed(body), hashlib.sha256).hexdigest()
        before(place, api, wait)
        return kept.read(api.request(method, path, content=body, headers=headers(place, given, kept.nonces)))

    asked = {"response_type": "code", "client_id": client_id, "state": state, "session_id": found["session_id"]}
    target = f"/authorize?{query(fields('authorize', asked))}"
    nonce = "" if skip == "authorize" else send("authorize", "GET", target)["consent_nonce"]
    consent = fields("consent", {"consent_proof": proof("consent", nonce, state)})
    code = "" if skip == "consent" else send("consent", "POST", "/oauth/consent", json.dumps(consent).encode())["code"]
    exchange = {"grant_type": "authorization_code", "code": code or "none-yet", "client_id": client_id}
    exchange["binding_proof"] = proof("token", code, nonce, state)
    form = urlencode(fields("token", exchange)).encode()
    tokens = [send("token", "POST", "/token", form, content_type=FORM)["access_token"] for _ in range(exchanges)]
    authorization = f"Bearer {tokens[-1] if tokens else 'none-yet'}"
    last: dict[str, Any] = {}
    for path in order(found["resources"]):
        challenge = send("resource", "GET", path, authorization=authorization)["challenge"]
        answer = proof("answer", *kept.nonces, challenge, anchor)
        last = send("answer", "GET", path, authorization=authorization, x_cumulative_proof=answer)
    api.post("/submission", content=hand_in(last))


def header_names(given: Pairs) -> Pairs:
    """Header names from argument names."""
    return {name.replace("_", "-").title(): value for name, value in given.items()}


def read_state(instruction: str) -> str:
    """The state, which stands in a fence of its own."""
    found = re.search(r"`STATE`:\n\n```\n(\S+)\n```", instruction)
    assert found
    return found[1]


def read_client(instruction: str) -> str:
    """The client id."""
    found = re.search(r"`client_id` \(`([^`]+)`\)", instruction)
    assert found
    return found[1]
