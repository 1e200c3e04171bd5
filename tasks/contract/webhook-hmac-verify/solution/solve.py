"""Hash and verify each event as the bytes that arrived, acknowledge it at once, and judge the signature by comparing."""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Ack = dict[str, Any]


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Acknowledge all events and hand in the receipt."""
    play(api, instruction, wait)


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong.

    `linger` waits before a place (ack, fetch 2, final), `total` is how many events are taken, `drafts` what is sent before the
    last acknowledgement. `rest` is the wait before the next fetch, given `next_in` and the seconds that a fetch takes.
    """

    key: Callable[[str], bytes] = bytes.fromhex
    hashed: Callable[[bytes], bytes] = lambda body: body
    signed: Callable[[bytes], bytes] = lambda body: body
    edit: Callable[[Ack, str], Ack] = lambda ack, signature: ack
    drafts: Callable[[Ack], list[Ack]] = lambda ack: []
    linger: tuple[str, float] = ("", 0)
    rest: Callable[[float, float], float] = lambda next_in, fetch: next_in - fetch
    fetches: int = 1
    acks: Callable[[Ack], int] = lambda ack: 1
    total: Callable[[int], int] = lambda total: total
    chain: Callable[[list[bytes], list[str], str], bytes] = lambda bodies, hashes, part: b"".join(bodies) + part.encode()
    shift: int = 0
    hand_in: Callable[[list[httpx.Response]], str] = lambda answers: answers[-1].json()["receipt"]


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    habits = Habits(**changed)
    secret, bodies, hashes, answers = habits.key(secret_text(instruction)), [], [], []
    total, fetch = announced(instruction)

    def pause(place: str) -> None:
        if habits.linger[0] == place:
            wait(habits.linger[1])

    for number in range(1, habits.total(total) + 1):
        if answers and (seconds := habits.rest(answers[-1].json()["next_in"], fetch)) > 0:
            wait(seconds)
        pause(f"fetch {number}")
        event = [api.get("/webhook/event").raise_for_status() for _ in range(habits.fetches)][-1]
        signature, body = event.headers["X-Hub-Signature-256"].removeprefix("sha256="), event.content
        bodies.append(body)
        hashes.append(hashlib.sha256(habits.hashed(body)).hexdigest())
        ack = {"event_sequence": number, "body_sha256": hashes[-1], **verification(secret, habits.signed(body), signature)}
        for draft in habits.drafts(ack) if number == total else []:
            api.post("/webhook/ack", json=draft)
        pause("ack")
        answers += [
            api.post("/webhook/ack", json=habits.edit(ack, signature)).raise_for_status() for _ in range(habits.acks(ack))
        ]
    part = anchor_slice(instruction, habits.shift)
    final = {"hashes": hashes, "anchor": part, "chain": hashlib.sha256(habits.chain(bodies, hashes, part)).hexdigest()}
    pause("final")
    answers.append(api.post("/webhook/ack", json=habits.edit(final, "")).raise_for_status())
    api.post("/submission", content=habits.hand_in(answers))


def verification(secret: bytes, body: bytes, signature: str) -> Ack:
    """The HMAC of a body, and whether the signature that came with it is the same."""
    mac = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return {"hmac_sha256": mac, "verified": hmac.compare_digest(mac, signature)}


def announced(instruction: str) -> tuple[int, float]:
    """How many events the instruction announces, and what a fetch takes."""
    events = re.search(r"has (\d+) webhook events", instruction)
    fetch = re.search(r"Fetching takes (\d+) second", instruction)
    assert events
    assert fetch
    return int(events[1]), float(fetch[1])


def secret_text(instruction: str) -> str:
    """The secret, in hex as the instruction prints it."""
    found = re.search(r"```\n([0-9a-f]{32})\n```", instruction)
    assert found
    return found[1]
