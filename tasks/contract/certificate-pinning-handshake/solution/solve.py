"""Sign, then wear the newest certificate: unwrapped from its PEM at first, later as a header of an answer brings it."""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Certificates = list[str]
"""The base64 texts of the certificates so far, oldest first."""


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Read all data and hand in the receipt."""
    play(api, instruction, wait)


@dataclass
class Wallet:
    """The certificates so far, and from when to when each works; each is taken up `ahead` seconds before its time."""

    wait: Wait
    cost: float
    certs: Certificates = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    now: float = 0
    ahead: float = 0

    def add(self, text: str, answer: httpx.Response) -> None:
        """Keep one that an answer brought."""
        self.certs.append(text)
        self.now = answered_at(answer)
        self.starts.append(answer.json().get("starts_at", self.now))
        self.ends.append(answer.json()["expires_at"])

    def read(self, answer: httpx.Response) -> None:
        """Keep one that stands in a header, in the form in which it is sent."""
        self.now = answered_at(answer)
        for value in answer.headers.values():
            if re.fullmatch(r":[A-Za-z0-9+/]+=*:", value):
                self.add(value.strip(":"), answer)

    def in_use(self) -> Certificates:
        """Those that work by the time a request is judged; where the last one has ended by then, the next one is waited for."""
        judged = self.now + self.cost
        if self.starts and judged < self.starts[-1] and self.ends[-2] <= judged:
            self.wait(self.starts[-1] - judged)
            judged = self.starts[-1]
        return [text for text, start in zip(self.certs, self.starts, strict=True) if start <= judged + self.ahead] or [""]


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    challenges: int = 1,
    sign: Callable[[str, str], str | None] = lambda part, nonce: mac(part.encode(), nonce.encode()),
    linger: tuple[str, float] = ("", 0),
    plan: Callable[[list[int]], list[int]] = lambda numbers: numbers,
    worn: Callable[[Certificates], str | None] = lambda certs: f":{certs[-1]}:",
    bound: Callable[[Certificates], str | None] = lambda certs: sha256(certs[-1]),
    token: Callable[[list[str]], str | None] = lambda tokens: tokens[-1],
    digest: Callable[[list[str]], str] = lambda fragments: sha256("".join(fragments)),
    edit: Callable[[dict[str, Any]], dict[str, Any]] = lambda final: final,
    shift: int = 0,
    ahead: float = 0,
    hand_in: Callable[[str, list[str]], str] = lambda receipt, fragments: receipt,
) -> None:
    """The whole flow, with seams; `linger` waits before sign, data 1, ... or complete; None leaves a header or a field out."""
    wallet, tokens, fragments = Wallet(wait, request_seconds(instruction), ahead=ahead), [""], list[str]()

    def headers() -> dict[str, str]:
        known = wallet.in_use()
        return all_three(worn(known), bound(known), token(tokens))

    if challenges:
        nonces = [challenge(api) for _ in range(challenges)]
        pause(wait, linger, "sign")
        signed = handshake(api, {"nonce": nonces[0], "signature": sign(anchor_slice(instruction), nonces[0])})
        tokens = [signed.json()["request_token"]]
        wallet.add(unwrapped(signed.json()["certificate"]), signed)
    for number in plan(list(range(1, last_part(instruction) + 1))):
        pause(wait, linger, f"data {number}")
        answer = api.get(f"/api/data/{number}", headers=headers()).raise_for_status()
        fragments.append(answer.json()["fragment"])
        tokens.append(answer.json()["request_token"])
        wallet.read(answer)
    pause(wait, linger, "complete")
    final = edit({"anchor": anchor_slice(instruction, shift), "digest": digest(fragments)})
    receipt = api.post("/api/complete", json=final, headers=headers()).raise_for_status().json()["receipt"]
    api.post("/submission", content=hand_in(receipt, fragments))


def pause(wait: Wait, linger: tuple[str, float], place: str) -> None:
    """Wait, if this is the place for it."""
    if linger[0] == place:
        wait(linger[1])


def all_three(shown: str | None, proof: str | None, ticket: str | None) -> dict[str, str]:
    """The headers of every request after the handshake, but those that are None."""
    told = {"Client-Cert": shown, "Authorization": proof and f"Bearer {proof}", "X-Request-Token": ticket}
    return {name: value for name, value in told.items() if value}


def challenge(api: httpx.Client) -> str:
    """A new nonce."""
    return str(api.get("/handshake/challenge").raise_for_status().json()["nonce"])


def handshake(api: httpx.Client, signed: dict[str, str | None]) -> httpx.Response:
    """The handshake for a signed nonce; without the fields that are None."""
    given = {name: value for name, value in signed.items() if value}
    return api.post("/handshake/sign", json=given).raise_for_status()


def answered_at(answer: httpx.Response) -> float:
    """When an answer came, in virtual seconds."""
    return float(answer.headers["X-Virtual-Time"])


def request_seconds(instruction: str) -> int:
    """The seconds that a request takes."""
    seconds = re.search(r"Every request takes (\d+) seconds", instruction)
    assert seconds
    return int(seconds[1])


def last_part(instruction: str) -> int:
    """How many data requests there are."""
    found = re.search(r"to `GET /api/data/(\d+)`", instruction)
    assert found
    return int(found[1])


def unwrapped(pem: str) -> str:
    """The base64 text of a PEM, in one piece."""
    return "".join(line for line in pem.splitlines() if not line.startswith("-----"))


def mac(key: bytes, message: bytes) -> str:
    """An HMAC-SHA256 in hex."""
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def sha256(text: str) -> str:
    """A SHA-256 in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
