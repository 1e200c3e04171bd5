"""A balance is a fold over a stream, and it counts only for the version that was read.

Subscribing opens one reading of the stream: a stream token, a key, a version, and the first page token. Each page brings the
token of the next one and a digest, the last one a read token and, in some rounds, a challenge. The submission folds all
events, proves that it saw every one, and is signed as sent. Otherwise right, it meets a planned 409 two to five times by
seed, each time because three events came in (an entry, a late correction, a late void); then all of it begins anew. The
version works as If-Match does (RFC 9110 section 13.1.1), in the body and with 409 (section 15.5.10), as event stores have it;
reading by tokens, digests, read token and signature are the task's own.
Time: a stream token lives for 27 to 30 s by seed, a page costs 3 s, everything else 1 s. Five conflicts make 35 events, so in
the largest pages the last reading takes 7, and its submission comes 22 s after its token. With the page size of who asks for
none, or two readings under one token, the third round at the latest outlives it. All takes at most 118 of 200 s and 48 steps.
Higher levels serve larger pages of a longer stream: with pages of five the first round outlives its token at level 4.
Choices where the contract leaves one:
1. conflicts come only upon a submission that is right, so each round is judged, and the last one is like the first;
2. a page that is asked for again, with its token and limit, is the same page and counts once; with its token and something
   else it is VERSION_CONFLICT, as is any place that is not the next one; more than 5 events a page are WRONG_VALUE;
3. after a conflict the old subscription, its version, last sequence number and read token are VERSION_CONFLICT; a stream token
   that a new subscription replaced is EXPIRED_BEFORE_USE; subscribing anew costs nothing but time;
4. numbers and counts are compared as JSON, where 12.0 is not 12; sequence numbers have gaps, so places cannot be counted;
5. a reconciliation proof is MISSING_CONSTRAINT if absent with a challenge, and WRONG_VALUE if present without one;
6. the deliverable is `receipt`, drawn from the seed and given out by the last submission alone.
Order of judgement for a submission: subscribed, headers and fields present, stream token (window, bytes), versions, signature,
read token, digests, balance and counts.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from worlds.contract.checks import (
    check_digest,
    check_hmac,
    check_turn,
    check_value,
    require_fields,
    require_headers,
    sha256_hex,
)
from worlds.contract.credentials import Credential
from worlds.contract.judgement import validity_first
from worlds.contract.labels import Label
from worlds.contract.ledger import BATCH, Event, draw_challenge, draw_events, fold
from worlds.contract.mangling import mangled
from worlds.contract.readings import Reading
from worlds.contract.windows import drawn_ms
from worlds.contract.world import ContractWorld
from worlds.core.calls import Call, Reply, Unreadable, Violation, get, post, protocol

WITHOUT_LIMIT, LEAST = 2, 5
"""Events in a page without a limit, and in the smallest of largest pages, for which the knob says how many events there are."""

FIELDS = ("balance", "expected_sequence", "stream_version", "read_token", "digest_chain", "event_proof", "counts")
KEY_BYTES, RECEIPT_CHARS = 32, 48


class EventSourcedConsistency(ContractWorld):
    """A stream that moves on while it is read."""

    to_come: int
    """Conflicts that are still to come."""
    read_round: int
    """How many there had been at the last subscription."""

    def prepare(self) -> None:
        """Draw conflicts, rounds with a challenge, events, life of a stream token and anchor."""
        draw = self.chance("conflicts")
        self.conflicts = draw.between(2, 5)
        self.challenged = draw.sample(range(self.conflicts + 1), draw.between(1, self.conflicts))
        self.to_come, self.most = self.conflicts, round(self.knob("page_events"))
        count = round(self.knob("events")) * self.most // LEAST
        self.all_events = draw_events(self.chance("events"), count, self.conflicts)
        self.life_ms = drawn_ms(self, "stream_seconds")
        self.draw_slice()
        self.stream, self.key = Credential(self, "stream_token"), b""
        self.reading: Reading | None = None
        self.read_tokens: list[str] = []

    def facts(self) -> dict[str, object]:
        """What the instruction tells."""
        costs = {f"{name}_cost": self.manifest.cost_ms(name) // 1000 for name in ("request", "page")}
        sizes = {"most": self.most, "without_limit": WITHOUT_LIMIT, "receipt_chars": RECEIPT_CHARS, "key_bytes": KEY_BYTES}
        return {**self.slice_facts(), **costs, **sizes}

    @post("/events/subscribe")
    def subscribe(self, call: Call) -> dict[str, object]:
        """A new reading from the first event on."""
        given = call.json()
        require_fields(given, "anchor")
        check_value(given["anchor"], self.slice, "field anchor")
        if self.deliverable is not None:
            raise Violation(Label.VERSION_CONFLICT, "the balance was accepted", status=409)
        self.reading, self.read_round = Reading(self.chance("pages"), self.version, self.most), self.round
        self.key, self.read_token = self.chance("key").bytes(KEY_BYTES), ""
        made = self.stream.renew(self.chance("stream").base64(32), self.life_ms)
        return {
            "stream_token": self.stream.text, "expires_at": made.expires_at / 1000, "hmac_key": self.key.hex(),
            "stream_version": self.version, "page_token": self.reading.token,
        }  # fmt: skip

    @get("/events", cost="page", query=("after_seq", "limit"), headers=("X-Stream-Token", "X-Page-Token"))
    def page(self, call: Call) -> dict[str, object]:
        """The next page, or one that was read before; the one at the end with what a submission needs."""
        reading = self.subscribed(call, "X-Page-Token")
        wanted = call.header("X-Page-Token") or "", number(call, "after_seq"), number(call, "limit", str(WITHOUT_LIMIT))
        self.enter(call, lambda: reading.check(*wanted))
        page = dict(reading.page(self.events, *wanted))
        if page["page_token"] is None:
            if not self.read_token:
                self.read_token = self.chance("read").hex(48)
                self.read_tokens.append(self.read_token)
            page["read_token"] = self.read_token
            if self.round in self.challenged:
                page["challenge"] = self.challenge
        return page

    @post("/aggregate", headers=("X-Stream-Token", "X-Submission-HMAC"))
    def aggregate(self, call: Call) -> Reply:
        """The receipt, if the submission is right and no event came in."""
        reading, given = self.subscribed(call, "X-Submission-HMAC"), call.json()
        require_fields(given, *FIELDS)
        self.enter(
            call,
            lambda: self.check_version(given),
            lambda: check_hmac(call.header("X-Submission-HMAC"), self.key, call.body, "header X-Submission-HMAC"),
            lambda: self.check_proofs(given, reading),
            lambda: self.check_fold(given),
        )
        if self.to_come:
            self.to_come -= 1
            return protocol(409, "events came in: subscribe again and begin anew")
        receipt = self.chance("receipt").hex(RECEIPT_CHARS)
        self.deliverable = receipt.encode()
        return Reply({"receipt": receipt})

    def subscribed(self, call: Call, header: str) -> Reading:
        """The reading of a request that has what it must carry."""
        if self.reading is None:
            raise Violation(Label.MISSING_CONSTRAINT, "a subscription must come first", field="subscription")
        require_headers(call, "X-Stream-Token", label=Label.MISSING_TOKEN)
        require_headers(call, header)
        return self.reading

    def enter(self, call: Call, *checks: Callable[[], object]) -> None:
        """Check the stream token, that no event came in since it was issued, and the rest."""
        token = call.header("X-Stream-Token")
        validity_first(lambda: self.stream.redeem(token, "header X-Stream-Token"), self.check_current, *checks)

    def check_current(self) -> None:
        """Raise when events came in since the subscription."""
        if self.read_round != self.round:
            raise Violation(Label.VERSION_CONFLICT, "this subscription is outdated", status=409)

    def check_version(self, given: dict[str, Any]) -> None:
        """Raise for the version, last sequence number or read token of another reading than this one."""
        stale = given["read_token"] in self.read_tokens and given["read_token"] != self.read_token
        if stale or given["stream_version"] != self.version:
            raise Violation(Label.VERSION_CONFLICT, "another version was read", status=409, field="stream_version")
        check_turn(given["expected_sequence"], self.events[-1]["seq"], "field expected_sequence")

    def check_proofs(self, given: dict[str, Any], reading: Reading) -> None:
        """Check what proves that this stream was read, whole and in order."""
        if not reading.done:
            raise Violation(Label.MISSING_CONSTRAINT, "the stream must be read to its end first", field="read_token")
        token = str(given["read_token"]).encode()
        if broken := mangled("read_token", self.read_token.encode(), token, "the read token is not as issued"):
            raise broken
        check_digest(given["digest_chain"], reading.chain, "field digest_chain")
        check_digest(given["event_proof"], sha256_hex(*(event["id"] for event in self.events)), "field event_proof")
        if self.round in self.challenged:
            amounts = fold(self.events).amounts
            text = ",".join(str(amounts[seq]) for seq in self.challenge)
            check_digest(given.get("reconciliation_proof"), sha256_hex(text), "field reconciliation_proof")
        elif given.get("reconciliation_proof") is not None:
            raise Violation(Label.WRONG_VALUE, "there was no challenge to prove", field="reconciliation_proof")

    def check_fold(self, given: dict[str, Any]) -> None:
        """Check what the events come to; compared as JSON, where 1 is neither true nor 1.0."""
        folded = fold(self.events)
        for name, expected in (("balance", folded.balance), ("counts", folded.counts)):
            if json.dumps(given[name], sort_keys=True) != json.dumps(expected, sort_keys=True):
                raise Violation(Label.WRONG_VALUE, f"field {name} is not what the events come to", field=name)

    @property
    def events(self) -> list[Event]:
        """What the stream holds by now."""
        return self.all_events[: len(self.all_events) - BATCH * self.to_come]

    @property
    def round(self) -> int:
        """Conflicts so far."""
        return self.conflicts - self.to_come

    @property
    def version(self) -> str:
        """The name of what it holds by now."""
        return self.chance.fresh(f"version-{self.round}").hex(32)

    @property
    def challenge(self) -> list[int]:
        """The entries that the reconciliation proof of this round is about."""
        return draw_challenge(self.chance.fresh(f"challenge-{self.round}"), self.events)


def number(call: Call, name: str, default: str = "") -> int:
    """A whole number in the query."""
    if not re.fullmatch("[0-9]{1,6}", text := call.query(name) or default):
        raise Unreadable(f"{name} must be a whole number")
    return int(text)
