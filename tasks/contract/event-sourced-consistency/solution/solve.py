"""Subscribe, read in the largest pages, fold, prove, sign the bytes that are sent; and all of it anew after every conflict."""

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from reading import anchor_slice

Wait = Callable[[float], None]
Json = dict[str, Any]
Events = list[Json]
SIGNS = {"credit": 1, "debit": -1}


@dataclass
class Round:
    """What one subscription gave, and what was read under it."""

    given: Json
    events: Events = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    last_page: Json = field(default_factory=dict)


def amounts_of(events: Events) -> dict[int, int]:
    """Each entry's amount with its corrections, 0 for a voided one."""
    amounts = {event["seq"]: event["amount"] for event in events if event["type"] in SIGNS}
    for event in events:
        if event["type"] == "correction":
            amounts[event["of"]] += event["delta"]
    return amounts | {event["of"]: 0 for event in events if event["type"] == "void"}


def balance_of(events: Events) -> int:
    """What the entries come to."""
    amounts = amounts_of(events)
    return sum(SIGNS[event["type"]] * amounts[event["seq"]] for event in events if event["type"] in SIGNS)


def chain_of(version: str, digests: list[str]) -> str:
    """The digests, folded from the version on."""
    chain = version
    for digest in digests:
        chain = sha256(chain + digest)
    return chain


@dataclass(frozen=True)
class Habits:
    """A seam at every place where a client can go wrong; `rest` waits before the page or submission with a name.

    Who looks `again` asks for the last page twice, and goes by what it says then.
    """

    shift: int = 0
    subscribe: Callable[[Json], Json] = lambda body: body
    limit: Callable[[int], int | None] = lambda most: most
    passes: int = 1
    again: bool = False
    rest: tuple[str, float] = ("", 0)
    place: Callable[[int], int] = lambda seq: seq
    page: Callable[[dict[str, str], str], dict[str, str]] = lambda headers, first: headers
    amounts: Callable[[Events], dict[int, int]] = amounts_of
    balance: Callable[[Events], int] = balance_of
    proved: Callable[[Events], Events] = lambda events: events
    counted: Callable[[Events], Events] = lambda events: events
    chain: Callable[[str, list[str]], str] = chain_of
    key: Callable[[Round, Round], bytes] = lambda now, first: bytes.fromhex(now.given["hmac_key"])
    edit: Callable[[Json, Json], Json] = lambda body, first: body
    signed: Callable[[bytes], bytes] = lambda body: body
    send: Callable[[dict[str, str]], dict[str, str]] = lambda headers: headers
    after_conflict: Callable[["Client"], None] = lambda client: client.begin()
    hand_in: Callable[[str, Round], str] = lambda receipt, now: receipt


def solve(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """Submit the balance and hand in the receipt."""
    play(api, instruction, wait)


def play(api: httpx.Client, instruction: str, wait: Wait, **changed: Any) -> None:
    """The whole flow, with some habits changed."""
    habits = Habits(**changed)
    client = Client(api, instruction, wait, habits)
    client.begin()
    while (answer := client.submit()).status_code == 409 and "begin anew" in answer.text:
        habits.after_conflict(client)
    api.post("/submission", content=habits.hand_in(answer.raise_for_status().json()["receipt"], client.now))


class Client:
    """Reads and submits, round after round."""

    def __init__(self, api: httpx.Client, instruction: str, wait: Wait, habits: Habits) -> None:
        self.api, self.wait, self.habits = api, wait, habits
        self.part, self.limit = anchor_slice(instruction, habits.shift), habits.limit(most_of(instruction))
        self.rounds: list[Round] = []
        self.first: Json = {}
        """The body that was submitted first."""

    @property
    def now(self) -> Round:
        """The round that is on."""
        return self.rounds[-1]

    def begin(self) -> None:
        """Subscribe and read everything."""
        self.subscribe()
        self.read()

    def subscribe(self) -> None:
        """A new round."""
        answer = self.api.post("/events/subscribe", json=self.habits.subscribe({"anchor": self.part}))
        self.rounds.append(Round(answer.raise_for_status().json()))

    def read(self) -> None:
        """All pages, each as often as this client reads them."""
        pages = [self.read_once() for _ in range(self.habits.passes)][-1]
        self.now.events = [event for page in pages for event in page["events"]]
        self.now.digests = [page["page_digest"] for page in pages]
        self.now.last_page = pages[-1]

    def read_once(self) -> list[Json]:
        """All pages from the first to the last."""
        pages, token, seq = [], self.now.given["page_token"], 0
        while token is not None:
            self.pause(f"page {len(pages) + 1}")
            asked = token, seq
            pages.append(self.read_page(*asked))
            token, seq = pages[-1]["page_token"], pages[-1]["events"][-1]["seq"]
        return [*pages[:-1], self.read_page(*asked)] if self.habits.again else pages

    def read_page(self, token: str, seq: int) -> Json:
        """One page."""
        headers = {"X-Stream-Token": self.now.given["stream_token"], "X-Page-Token": token}
        limit = "" if self.limit is None else f"&limit={self.limit}"
        target = f"/events?after_seq={self.habits.place(seq)}{limit}"
        answer = self.api.get(target, headers=self.habits.page(headers, self.now.given["page_token"]))
        page: Json = answer.raise_for_status().json()
        return page

    def submit(self) -> httpx.Response:
        """The answer to what this round comes to."""
        body = self.habits.edit(self.body(), self.first or self.body())
        self.first = self.first or body
        raw = json.dumps(body, separators=(",", ":")).encode()
        key = self.habits.key(self.now, self.rounds[0])
        mac = hmac.new(key, self.habits.signed(raw), hashlib.sha256).hexdigest()
        headers = {"X-Stream-Token": self.now.given["stream_token"], "X-Submission-HMAC": mac}
        self.pause("submission")
        return self.api.post("/aggregate", content=raw, headers=self.habits.send(headers))

    def body(self) -> Json:
        """What is submitted."""
        now, habits = self.now, self.habits
        events, counted = now.events, habits.counted(now.events)
        made = {
            "balance": habits.balance(events),
            "expected_sequence": events[-1]["seq"],
            "stream_version": now.given["stream_version"],
            "read_token": now.last_page["read_token"],
            "digest_chain": habits.chain(now.given["stream_version"], now.digests),
            "event_proof": sha256("".join(event["id"] for event in habits.proved(events))),
            "counts": {kind: sum(e["type"] == kind for e in counted) for kind in ("credit", "debit", "correction", "void")},
        }
        if "challenge" in now.last_page:
            amounts = habits.amounts(events)
            made["reconciliation_proof"] = sha256(",".join(str(amounts[seq]) for seq in now.last_page["challenge"]))
        return made

    def pause(self, place: str) -> None:
        """Wait where this client does, in the first round."""
        if self.habits.rest[0] == place and len(self.rounds) == 1:
            self.wait(self.habits.rest[1])


def sha256(text: str) -> str:
    """The SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def most_of(instruction: str) -> int:
    """Events in the largest page."""
    told = re.search(r"up to L events \(1 to (\d+);", instruction)
    assert told
    return int(told[1])
