"""Plain scripts for the tasks about signatures and digests, and for those whose answers tell what a request must say."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Callable
from urllib.parse import quote, urlencode

import httpx

from tests.tasks.contract.blind.service import Service, hmac_sha256, sha256


def cumulative_hash_chain(service: Service) -> None:
    """The tokens of a chain, and their hash."""
    steps = int(service.told(r"a chain of (\d+) tokens"))
    tokens = [service.get(f"/api/chain/{step}").json()["token"] for step in range(1, steps + 1)]
    digest = sha256(*tokens, service.told("the separator `(.+?)`"), service.block("Seed string:"))
    anchor = service.slice_of_seed
    headers = {"X-Seed-Anchor": anchor, "X-Chain-Proof": f"{anchor}:{tokens[-1][-8:]}:{digest[:8]}"}
    service.submit(service.get(f"/api/download?auth={digest}", headers).content)


def webhook_hmac_verify(service: Service) -> None:
    """Fetch and acknowledge each event, then close."""
    secret = bytes.fromhex(service.block("not the hex text:"))
    bodies: list[bytes] = []
    hashes: list[str] = []
    for _ in range(int(service.told(r"Acknowledge (\d+) webhook events"))):
        event = service.get("/webhook/event")
        signature = hmac_sha256(secret, event.content)
        bodies.append(event.content)
        hashes.append(sha256(event.content))
        acknowledgement = {
            "event_sequence": int(event.headers["X-Event-Sequence"]),
            "body_sha256": hashes[-1],
            "hmac_sha256": signature,
            "verified": event.headers["X-Hub-Signature-256"] == f"sha256={signature}",
        }
        service.post("/webhook/ack", json=acknowledgement)
    anchor = service.slice_of_seed
    chain = sha256(b"".join(bodies) + anchor.encode())
    closed = service.post("/webhook/ack", json={"hashes": hashes, "anchor": anchor, "chain": chain}).json()
    service.submit(closed["receipt"])


def certificate_pinning_handshake(service: Service) -> None:
    """A handshake, the data behind it, and the completion."""
    anchor = service.slice_of_seed
    nonce = service.get("/handshake/challenge").json()["nonce"]
    signature = hmac_sha256(anchor.encode(), nonce.encode())
    answer = service.post("/handshake/sign", json={"nonce": nonce, "signature": signature}).json()
    certificate, request_token = answer["certificate"], answer["request_token"]

    def headers() -> dict[str, str]:
        text = "".join(line for line in certificate.splitlines() if line and not line.startswith("-----"))
        return {"Client-Cert": f":{text}:", "Authorization": f"Bearer {sha256(text)}", "X-Request-Token": request_token}

    fragments = []
    for number in range(1, int(service.told(r"to `GET /api/data/(\d+)`")) + 1):
        reply = service.get(f"/api/data/{number}", headers())
        fragments.append(reply.json()["fragment"])
        request_token = reply.json()["request_token"]
        certificate = next((value.strip(":") for value in reply.headers.values() if value.startswith(":")), certificate)
    body = {"anchor": anchor, "digest": sha256(*fragments)}
    service.submit(service.post("/api/complete", headers(), json=body).json()["receipt"])


def signed_request_canonicalization(service: Service) -> None:
    """Orders, each signed in canonical form."""
    discovery = service.get("/api/discover").json()
    token = discovery["discovery_token"]
    piece = service.block("Seed string:").partition(discovery["marker"])[2][:24]
    given = service.get("/api/signing-params", {"X-Discovery-Token": token, "X-Seed-Anchor": piece}).json()
    encoded = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in given["query"])
    query = "&".join(f"{name}={value}" for name, value in encoded)
    order, proof = given["order"], sha256(token)
    while True:
        secret, body = given["keys"][order["key_id"]], order["body"].encode()
        key = secret.encode() if order["sequence"] <= 2 else bytes.fromhex(secret)
        headers = [(name, value) for name, value in given["headers"]]
        headers += [
            ("X-Sequence", str(order["sequence"])),
            ("X-Nonce", order["nonce"]),
            ("X-Binding", sha256(order["nonce"], ":", piece, ":", str(order["sequence"]))),
            ("X-Proof", proof),
            ("X-Body-HMAC", hmac_sha256(key, body)),
        ]
        lines = sorted((name.lower(), re.sub(" +", " ", value)) for name, value in headers)
        names = ";".join(name for name, _ in lines)
        canonical = "\n".join(
            [order["method"], order["path"], query, *(f"{name}:{value}" for name, value in lines), "", names, sha256(body)]
        )
        signature = hmac_sha256(secret.encode(), canonical.encode())
        scheme = f"PARLEY-HMAC-SHA256 KeyId={order['key_id']}, SignedHeaders={names}, Signature={signature}"
        sent = {**dict(headers), "Authorization": scheme}
        answer = service.send(order["method"], f"{order['path']}?{query}", sent, content=body)
        if answer.status_code != 428:
            break
        order, proof = answer.json()["order"], sha256(proof, signature)
    service.submit(answer.raise_for_status().json()["receipt"])


def constraint_overload_protocol(service: Service) -> None:
    """Rules, session, catalogue, checksum, and the download that meets the rules."""
    docs = service.get("/docs").json()
    session = service.get("/api/session").json()
    bearer = {"X-Session-Token": session["session_token"]}
    catalog = service.get("/api/catalog", bearer).json()
    available = next(resource for resource in catalog["resources"] if resource["status"] == "available")
    checksum = service.get("/api/checksum", bearer).json()["checksum"]
    named = {"session": {**session, "checksum": checksum}, "resource": available, "catalogue": catalog}

    def meant(rule: str) -> str:
        if parts := re.match(r"these parts in this order, joined by `(.+)` alone: (.+)", rule):
            return parts[1].join(meant(part) for part in parts[2].split("; "))
        if last := re.match(r"the last (\d+) characters of the session_token", rule):
            return str(session["session_token"])[-int(last[1]) :]
        if rule.startswith("the characters of the seed string"):
            return service.slice_of_seed
        field = re.match(r"the (\w+) of the (?:current |available )?(session|resource|catalogue)", rule)
        assert field is not None, f"the rule {rule!r} is not understood"
        return str(named[field[2]][field[1]])

    def all_in(place: str) -> dict[str, str]:
        return {rule["name"]: meant(rule["value"]) for rule in docs["rules"] if rule["in"] == place}

    method = next(rule["value"] for rule in docs["rules"] if rule["in"] == "request").partition(",")[0]
    target = f"{docs['endpoint']}?{urlencode(all_in('query'), quote_via=quote, safe='')}"
    service.submit(service.ask(method, target, all_in("header"), json=all_in("body")).content)


def content_negotiation_chain(service: Service) -> None:
    """Token, manifest and document, each in the type for programs."""

    def fetch(path: str, headers: dict[str, str]) -> httpx.Response:
        options = service.ask("OPTIONS", path).json()
        kind = next(kind for kind in options["produces"] if not kind.startswith("text/html"))
        return service.get(path, {"Accept": kind, **headers})

    bearer = {"Authorization": f"Bearer {fetch('/api/auth-config', {}).json()['token']}"}
    manifest = fetch("/api/resource-manifest", bearer).json()
    document = fetch(manifest["download_path"], {**bearer, "X-Seed-Anchor": service.slice_of_seed}).content
    undo: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.decompress,
        "base64": base64.b64decode,
        "hex": binascii.unhexlify,
    }
    for encoding in reversed(manifest["encodings"]):
        document = undo[encoding](document)
    service.submit(document)
