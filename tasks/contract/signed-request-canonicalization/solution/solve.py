"""Build each request, canonicalise that very request, sign it, send it; keep what the next one's proof needs."""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from reading import seed_string

Wait = Callable[[float], None]
Order = dict[str, Any]
Headers = dict[str, str]
Pairs = list[tuple[str, str]]


def strict(text: str) -> str:
    """A text in the encoding of RFC 3986."""
    return quote(text, safe="")


def by_encoded(pairs: Pairs, encode: Callable[[str], str]) -> Pairs:
    """Parameters encoded, then sorted by name and value."""
    return sorted((encode(name), encode(value)) for name, value in pairs)


def header_lines(headers: Headers) -> list[str]:
    """One line for each header, by name in lower case, runs of spaces squeezed."""
    return [f"{name.lower()}:{re.sub(' +', ' ', headers[name])}" for name in sorted(headers, key=str.lower)]


def right_body_key(secret: str, sequence: int) -> bytes:
    """The text of the secret for orders 1 and 2, then its bytes."""
    return secret.encode() if sequence <= 2 else bytes.fromhex(secret)


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    `settle` waits until an order's nonce works, given the seconds till then, `pause` before it is sent (0: before the
    parameters); `after` gets the last order that was sent, when all are carried out.
    """

    begin: Callable[[Headers], Headers] = lambda headers: headers
    shift: int = 0
    takes: int = 1
    settle: Callable[[float], float] = lambda left: left
    pause: Callable[[int], float] = lambda sequence: 0
    query: Callable[[Pairs], Pairs] = lambda pairs: pairs
    encode: Callable[[str], str] = strict
    arrange: Callable[[Pairs, Callable[[str], str]], Pairs] = by_encoded
    path: Callable[[str], str] = lambda path: path
    lines: Callable[[Headers], list[str]] = header_lines
    joined: Callable[[list[str]], str] = "\n".join
    signing_key: Callable[[str], bytes] = str.encode
    first_proof: Callable[[str], str] = lambda token: token
    hashed: Callable[[bytes], bytes] = lambda body: body
    secret_of: Callable[[dict[str, str], str], str] = lambda keys, key_id: keys[key_id]
    body_key: Callable[[str, int], bytes] = right_body_key
    bound: Callable[[str, str, int], str] = lambda nonce, part, sequence: f"{nonce}:{part}:{sequence}"
    bind: Callable[[str], str] = lambda binding: binding
    body_mac: Callable[[str], str] = lambda mac: mac
    chained: Callable[[str, str], str] = lambda proof, signature: proof + signature
    change: Callable[[Order, Order], Order] = lambda order, before: order
    send: Callable[[Headers], Headers] = lambda headers: headers
    after: Callable[[httpx.Client, dict[str, Any]], object] = lambda api, last: None
    hand_in: Callable[[str, str], str] = lambda receipt, signature: receipt


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Carry out all orders and hand in the receipt."""
    play(api, instruction, wait)


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    habits = Habits(**changed)
    found = api.get("/api/discover").raise_for_status().json()
    part = marked(instruction, found["marker"], habits.shift)
    linger(wait, habits.pause(0))
    (cost,) = re.findall(r"Every request takes ([0-9.]+) second", " ".join(instruction.split()))
    first = habits.begin({"X-Discovery-Token": found["discovery_token"], "X-Seed-Anchor": part})
    for _ in range(habits.takes):
        answer = api.get("/api/signing-params", headers=first).raise_for_status()
    taken = answer.json()
    order, before, proof = taken["order"], taken["order"], sha256(habits.first_proof(found["discovery_token"]))
    while True:
        request, signature = signed(habits, taken, habits.change(order, before), part, proof)
        linger(wait, habits.settle(order["starts_at"] - float(cost) - float(answer.headers["X-Virtual-Time"])))
        linger(wait, habits.pause(order["sequence"]))
        answer = api.send(api.build_request(**request))
        if answer.status_code != 428:
            break
        order, before, proof = answer.json()["order"], order, sha256(habits.chained(proof, signature))
    habits.after(api, request)
    api.post("/submission", content=habits.hand_in(answer.raise_for_status().json()["receipt"], signature))


def signed(habits: Habits, params: Order, order: Order, part: str, proof: str) -> tuple[dict[str, Any], str]:
    """The request of an order, and its signature."""
    sequence, body = order["sequence"], order["body"].encode()
    secret = habits.secret_of(params["keys"], order["key_id"])
    headers = dict(params["headers"]) | {
        "X-Sequence": str(sequence),
        "X-Nonce": order["nonce"],
        "X-Binding": habits.bind(sha256(habits.bound(order["nonce"], part, sequence))),
        "X-Proof": proof,
        "X-Body-HMAC": habits.body_mac(mac(habits.body_key(secret, sequence), body)),
    }
    listed = ";".join(sorted(name.lower() for name in headers))
    pairs = habits.query(params["query"])
    query = "&".join("=".join(pair) for pair in habits.arrange(pairs, habits.encode))
    place = [order["method"], habits.path(order["path"]), query]
    text = habits.joined([*place, *habits.lines(headers), "", listed, sha256(habits.hashed(body))])
    signature = mac(habits.signing_key(secret), text.encode())
    said = f"PARLEY-HMAC-SHA256 KeyId={order['key_id']}, SignedHeaders={listed}, Signature={signature}"
    url = f"{order['path']}?" + "&".join("=".join(map(strict, pair)) for pair in pairs)
    headers = habits.send({**headers, "Authorization": said})
    return {"method": order["method"], "url": url, "headers": headers, "content": body}, signature


def marked(instruction: str, marker: str, shift: int) -> str:
    """The slice: 24 characters of the seed string after the marker, or from `shift` places before."""
    text = seed_string(instruction)
    start = text.index(marker) + len(marker) - shift
    return text[start : start + 24]


def linger(wait: Wait, seconds: float) -> None:
    """Wait, if there is anything to wait for."""
    if seconds > 0:
        wait(seconds)


def sha256(*parts: str | bytes) -> str:
    """The SHA-256 of these parts, one after the other, in hex."""
    return hashlib.sha256(b"".join(part.encode() if isinstance(part, str) else part for part in parts)).hexdigest()


def mac(key: bytes, message: bytes) -> str:
    """The HMAC-SHA256 in hex."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()
