"""Sign, then wear the newest certificate: unwrapped from its PEM at first, later as a header of an answer brings it."""

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Certificates = list[str]
"""The base64 texts of the certificates so far, oldest first."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Read all data and hand in the receipt."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    challenges: int = 1,
    signs: int = 1,
    sign: Callable[[str, str], str | None] = lambda part, nonce: mac(part.encode(), nonce.encode()),
    linger: tuple[str, float] = ("", 0),
    plan: Callable[[list[int]], list[int]] = lambda numbers: numbers,
    worn: Callable[[Certificates], str | None] = lambda certs: f":{certs[-1]}:",
    bound: Callable[[Certificates], str | None] = lambda certs: sha256(certs[-1]),
    token: Callable[[list[str]], str | None] = lambda tokens: tokens[-1],
    digest: Callable[[list[str]], str] = lambda fragments: sha256("".join(fragments)),
    edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda final: final,
    shift: int = 0,
    hand_in: Callable[[str, list[str]], str] = lambda receipt, fragments: receipt,
) -> None:
    """The whole flow, with a seam at every place where a client can go wrong.

    `linger` waits before a place: sign, data 1, or complete. Seams that give None leave their header or field out.
    """
    certs, tokens, part = [""], [""], anchor_slice(instruction)
    fragments: list[str] = []

    def pause(place: str) -> None:
        if linger[0] == place:
            wait(linger[1])

    def headers() -> dict[str, str]:
        shown, proof, ticket = worn(certs), bound(certs), token(tokens)
        all_three = {"Client-Cert": shown, "Authorization": proof and f"Bearer {proof}", "X-Request-Token": ticket}
        return {name: value for name, value in all_three.items() if value}

    if challenges:
        nonces = [api.get("/handshake/challenge").raise_for_status().json()["nonce"] for _ in range(challenges)]
        pause("sign")
        signed = {"nonce": nonces[0], "signature": sign(part, nonces[0])}
        signed = {name: value for name, value in signed.items() if value}
        answers = [api.post("/handshake/sign", json=signed).raise_for_status().json() for _ in range(signs)]
        certs, tokens = [unwrapped(answers[-1]["certificate"])], [answers[-1]["request_token"]]
    for number in plan([1, 2, 3, 4]):
        pause(f"data {number}")
        answer = api.get(f"/api/data/{number}", headers=headers()).raise_for_status()
        fragments.append(answer.json()["fragment"])
        tokens.append(answer.json()["request_token"])
        certs += [value.strip(":") for value in answer.headers.values() if re.fullmatch(r":[A-Za-z0-9+/]+=*:", value)]
    pause("complete")
    final = {"anchor": anchor_slice(instruction, shift), "digest": digest(fragments)}
    receipt = api.post("/api/complete", json=edit(final), headers=headers()).raise_for_status().json()["receipt"]
    api.post("/submission", content=hand_in(receipt, fragments))


def unwrapped(pem: str) -> str:
    """The base64 text of a PEM, in one piece."""
    return "".join(line for line in pem.splitlines() if not line.startswith("-----"))


def mac(key: bytes, message: bytes) -> str:
    """An HMAC-SHA256 in hex."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def sha256(text: str) -> str:
    """A SHA-256 in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
