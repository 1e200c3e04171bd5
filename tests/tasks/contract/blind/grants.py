"""Plain scripts for the two OAuth grants, which number their requests and sign their bodies."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx

from tests.tasks.contract.blind.service import Service, hmac_sha256, sha256

FORM, JSON = {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Grant:
    """What both grants count: session nonces, request numbers, the newest signing key."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.anchor = service.slice_of_seed
        self.nonces: list[str] = []
        self.number = 1
        self.signing_key = ""

    def open(self, target: str) -> dict[str, Any]:
        """The first request, which has no number."""
        opened = self._take(self.service.get(target))
        self.number = 1
        return opened

    def send(self, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None) -> dict[str, Any]:
        """A numbered request, which is answered with 200 or 428."""
        sent = {
            "X-Session-Nonce": self.nonces[-1],
            "X-Request-Sequence": str(self.number),
            **self.own_headers(),
            **(headers or {}),
        }
        return self._take(self.service.send(method, target, sent, content=body))

    def own_headers(self) -> dict[str, str]:
        """What one of the grants wants with every request."""
        return {}

    def signature(self, body: bytes) -> dict[str, str]:
        """The header that signs a body."""
        return {"X-Body-Signature": hmac_sha256(bytes.fromhex(self.signing_key), body)}

    def _take(self, answer: httpx.Response) -> dict[str, Any]:
        if answer.status_code not in {200, 428}:
            answer.raise_for_status()
        brought: dict[str, Any] = answer.json()
        self.nonces.append(brought["session_nonce"])
        self.signing_key = brought.get("signing_key", self.signing_key)
        self.number += 1
        return brought


class CodeGrant(Grant):
    """The authorization code grant, which proves its state with every request and signs every POST."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.state = "".join(secrets.choice(LETTERS) for _ in range(198)) + "+/"

    def own_headers(self) -> dict[str, str]:
        """The proof of the state."""
        return {"X-Auth-Proof": f"{self.anchor}:{self.state[-8:]}"}

    def post(self, target: str, body: bytes, kind: dict[str, str]) -> dict[str, Any]:
        """A signed POST."""
        return self.send("POST", target, body, {**kind, **self.signature(body)})


def oauth_authorization_code(service: Service) -> None:
    """Discover, authorize, consent, token, resources."""
    grant = CodeGrant(service)
    redirect, client_id = service.told("`REDIRECT` is `(.+?)`"), service.told("`client_id` \\(`(.+?)`\\)")
    opened = grant.open("/oauth/discover")
    query = {"response_type": "code", "client_id": client_id, "redirect_uri": redirect, "state": grant.state}
    query["session_id"] = opened["session_id"]
    consent = grant.send("GET", f"/authorize?{urlencode(query, quote_via=quote, safe='')}")["consent_nonce"]
    body = json.dumps({"consent_proof": sha256(consent, grant.state)}).encode()
    redirects = grant.post("/oauth/consent", body, JSON)["redirects"]
    answers = [parse_qs(urlsplit(address).query) for address in redirects]
    code = next(answer["code"][0] for answer in answers if answer["state"] == [grant.state])
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "client_id": client_id}
    form["binding_proof"] = sha256(code, consent, grant.state)
    token = grant.post("/token", urlencode(form).encode(), FORM)["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    resource: dict[str, Any] = {}
    for path in opened["resources"]:
        challenge = grant.send("GET", path, headers=bearer)["challenge"]
        proof = {"X-Cumulative-Proof": sha256(*grant.nonces, challenge, grant.anchor)}
        resource = grant.send("GET", path, headers={**bearer, **proof})
    service.submit(resource["receipt"])


class PkceGrant(Grant):
    """The grant with PKCE, which attests itself by its verifier."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.verifier = secrets.token_urlsafe(96)
        digest = hashlib.sha256(self.verifier.encode()).digest()
        self.challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        self.refreshes = 0

    def own_headers(self) -> dict[str, str]:
        """The nonce before the newest from the second request on, the attestation from the third on."""
        headers = {}
        if len(self.nonces) > 1:
            headers["X-Previous-Nonce"] = self.nonces[-2]
        if len(self.nonces) > 2:
            counted = f"|{self.refreshes}" if self.refreshes else ""
            headers["X-Client-Attestation"] = sha256(f"{self.verifier}|{self.nonces[-1]}{counted}")
        return headers

    def complete(self, opened: dict[str, Any], access_token: str) -> str:
        """Introspection and completion, up to the receipt."""
        body = urlencode({"token": access_token}).encode()
        nonce = self.send("POST", opened["introspection_endpoint"], body, {**FORM, **self.signature(body)})["completion_nonce"]
        completion = {"anchor": self.anchor, "session_proof": sha256(opened["session_id"], nonce, self.anchor)}
        for _ in range(2):
            body = json.dumps(completion).encode()
            headers = {**JSON, "Authorization": f"Bearer {access_token}", **self.signature(body)}
            answer = self.send("POST", opened["completion_endpoint"], body, headers)
            completion["cumulative_proof"] = sha256(*self.nonces, answer.get("challenge", ""), self.anchor)
        return str(answer["receipt"])


def oauth_pkce_with_rotation(service: Service) -> None:
    """Discovery, authorization, consent, token, two resources, a refresh, two resources, completion."""
    grant = PkceGrant(service)
    client_id, scope = service.told("client `(client-.+?)`"), service.told("`scope` \\(the text `(.+?)`\\)")
    opened = grant.open("/.well-known/openid-configuration")
    paths = [resource["path"] for resource in opened["resources"]]
    query = {"response_type": "code", "client_id": client_id, "scope": scope, "code_challenge": grant.challenge}
    query["code_challenge_method"] = "S256"
    consent = grant.send("GET", f"{opened['authorization_endpoint']}?{urlencode(query, quote_via=quote)}")["consent_nonce"]
    body = json.dumps({"consent_proof": sha256(consent, grant.challenge)}).encode()
    bound = grant.send("POST", opened["consent_endpoint"], body, JSON)
    form = {"grant_type": "authorization_code", "client_id": client_id, "code": bound["code"], "code_verifier": grant.verifier}
    form["binding_proof"] = sha256(bound["code"], bound["binding_nonce"])
    tokens = grant.send("POST", opened["token_endpoint"], urlencode(form).encode(), FORM)
    ends = service.now + float(service.told(r"an access token (\d+)"))
    for path in paths[:2]:
        grant.send("GET", path, headers={"Authorization": f"Bearer {tokens['access_token']}"})
    service.wait_until(ends)
    form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": tokens["refresh_token"], "scope": scope}
    tokens = grant.send("POST", opened["token_endpoint"], urlencode(form).encode(), FORM)
    grant.refreshes += 1
    for path in paths[2:]:
        grant.send("GET", path, headers={"Authorization": f"Bearer {tokens['access_token']}"})
    service.submit(grant.complete(opened, tokens["access_token"]))
