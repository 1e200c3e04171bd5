"""Hash and verify each event as the bytes that arrived, acknowledge it at once, and judge the signature by comparing."""

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Ack = dict[str, Any]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Acknowledge all events and hand in the receipt."""
    play(api, instruction, wait)


def play(
    api: httpx.Client,
    instruction: str,
    wait: Wait,
    *,
    key: Callable[[str], bytes] = bytes.fromhex,
    hashed: Callable[[bytes], bytes] = lambda body: body,
    signed: Callable[[bytes], bytes] = lambda body: body,
    edit: Callable[[Ack, str], Ack] = lambda ack, signature: ack,
    linger: tuple[str, float] = ("", 0),
    fetches: int = 1,
    acks: int = 1,
    stop_after: int | None = None,
    chain: Callable[[list[bytes], list[str], str], bytes] = lambda bodies, hashes, part: b"".join(bodies) + part.encode(),
    shift: int = 0,
    hand_in: Callable[[list[httpx.Response]], str] = lambda answers: answers[-1].json()["receipt"],
) -> None:
    """The whole flow, with seams; `linger` waits before a place (ack, fetch 2, final), `stop_after` closes after n events."""
    secret, bodies, hashes, answers = key(secret_text(instruction)), [], [], []

    def pause(place: str) -> None:
        if linger[0] == place:
            wait(linger[1])

    for number in range(1, (stop_after or events(instruction)) + 1):
        pause(f"fetch {number}")
        event = [api.get("/webhook/event").raise_for_status() for _ in range(fetches)][-1]
        signature, body = event.headers["X-Hub-Signature-256"].removeprefix("sha256="), event.content
        bodies.append(body)
        hashes.append(hashlib.sha256(hashed(body)).hexdigest())
        ack = {"event_sequence": number, "body_sha256": hashes[-1], **verification(secret, signed(body), signature)}
        pause("ack")
        answers += [api.post("/webhook/ack", json=edit(ack, signature)).raise_for_status() for _ in range(acks)]
    part = anchor_slice(instruction, shift)
    final = {"hashes": hashes, "anchor": part, "chain": hashlib.sha256(chain(bodies, hashes, part)).hexdigest()}
    pause("final")
    answers.append(api.post("/webhook/ack", json=edit(final, "")).raise_for_status())
    api.post("/submission", content=hand_in(answers))


def verification(secret: bytes, body: bytes, signature: str) -> Ack:
    """The HMAC of a body, and whether the signature that came with it is the same."""
    mac = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return {"hmac_sha256": mac, "verified": hmac.compare_digest(mac, signature)}


def events(instruction: str) -> int:
    """How many events the instruction announces."""
    found = re.search(r"has (\d+) webhook events", instruction)
    assert found
    return int(found[1])


def secret_text(instruction: str) -> str:
    """The secret, in hex as the instruction prints it."""
    found = re.search(r"```\n([0-9a-f]{32})\n```", instruction)
    assert found
    return found[1]
