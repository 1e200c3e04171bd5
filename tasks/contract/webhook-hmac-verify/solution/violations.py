"""Clients that go wrong in one place each, with the label that place must earn."""

import json
import re
from collections.abc import Callable
from functools import partial

import httpx
from solve import Ack, Wait, announced, play
from timing import INSTANT, Answers, Client, answered_at, held


def parsed(body: bytes) -> bytes:
    """A body that a parser read and wrote again."""
    return json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()


def echoing(body: bytes) -> bytes:
    """A body that a shell passed on: `echo` adds a newline."""
    return body + b"\n"


def trusting(ack: Ack, signature: str) -> Ack:
    """A client that calls every event genuine."""
    return {**ack, "verified": True} if "verified" in ack else ack


def distrusting(ack: Ack, signature: str) -> Ack:
    """A client that calls no event genuine."""
    return {**ack, "verified": False} if "verified" in ack else ack


def copying(ack: Ack, signature: str) -> Ack:
    """A client that computes nothing: it returns the signature it was given."""
    return {**ack, "hmac_sha256": signature, "verified": True} if "verified" in ack else ack


def prefixed(ack: Ack, signature: str) -> Ack:
    """A client that keeps the header's prefix."""
    return {**ack, "hmac_sha256": "sha256=" + ack["hmac_sha256"]} if "verified" in ack else ack


def upper(ack: Ack, signature: str) -> Ack:
    """A client whose library writes hex in capitals."""
    return {**ack, "body_sha256": ack["body_sha256"].upper()} if "verified" in ack else ack


def without(field: str, ack: Ack, signature: str) -> Ack:
    """A client that leaves one field out."""
    return {name: value for name, value in ack.items() if name != field}


def mistyped(field: str, value: object, ack: Ack) -> list[Ack]:
    """An acknowledgement with a value of another JSON type: nobody can read it, and it breaks nothing."""
    return [{**ack, field: value}]


def out_of_order(ack: Ack, signature: str) -> Ack:
    """A client that lists the hashes from the last event to the first."""
    return {**ack, "hashes": ack["hashes"][::-1]} if "hashes" in ack else ack


def stopping(body: bytes) -> bytes:
    """A client that goes no further than its fetches."""
    raise InterruptedError


def period_end(path: str, cost: float, spare: float, turn: Callable[[int], int]) -> Client:
    """A client whose request number `turn` (of so many events) to a path comes so long before the newest period ends."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        (seconds,) = re.findall(r"a period of (\d+) seconds", " ".join(instruction.split()))

        def end(answers: Answers) -> float:
            return answered_at([answer for answer in answers if answer.request.url.path == "/webhook/event"][-1]) + int(seconds)

        held(play, path, end, cost, spare, turn=turn(announced(instruction)[0]))(api, instruction, wait)

    return client


def hasty(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that comes an instant before an event is ready, and goes no further; where all are, it fetches one more."""
    early: list[float] = []

    def rest(next_in: float, fetch: float) -> float:
        if early:
            raise InterruptedError
        if next_in > fetch:
            early.append(next_in)
        return next_in - fetch - INSTANT

    play(api, instruction, wait, rest=rest, total=lambda total: total + 1)


def closed_twice(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends its closing acknowledgement twice."""
    closing: list[bytes] = []

    def before(request: httpx.Request) -> None:
        if request.url.path == "/webhook/ack":
            closing.append(request.content)
        elif request.url.path == "/submission":
            api.post("/webhook/ack", content=closing[-1]).raise_for_status()

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


def of_the_next(ack: Ack, signature: str) -> Ack:
    """A client that counts one too far."""
    return {**ack, "event_sequence": ack["event_sequence"] + 1} if "event_sequence" in ack else ack


def upper_mac(ack: Ack, signature: str) -> Ack:
    """A client that writes the HMAC in capitals."""
    return {**ack, "hmac_sha256": ack["hmac_sha256"].upper()} if "verified" in ack else ack


VIOLATIONS = {
    "parsed_body": ("WRONG_HASH", partial(play, hashed=parsed, signed=parsed)),
    "echoed_body": ("WRONG_HASH", partial(play, hashed=echoing)),
    "upper_case_hash": ("WRONG_HASH", partial(play, edit=upper)),
    "chain_of_hashes": ("WRONG_HASH", partial(play, chain=lambda bodies, hashes, part: ("".join(hashes) + part).encode())),
    "chain_without_anchor": ("WRONG_HASH", partial(play, chain=lambda bodies, hashes, part: b"".join(bodies))),
    "hex_text_as_key": ("SIGNATURE_MISMATCH", partial(play, key=str.encode)),
    "parsed_for_signature": ("SIGNATURE_MISMATCH", partial(play, signed=parsed)),
    "accepted_forgery": ("SIGNATURE_MISMATCH", partial(play, edit=trusting)),
    "rejected_all": ("SIGNATURE_MISMATCH", partial(play, edit=distrusting)),
    "copied_signature": ("SIGNATURE_MISMATCH", partial(play, edit=copying)),
    "prefixed_signature": ("SIGNATURE_MISMATCH", partial(play, edit=prefixed)),
    "no_signature": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "hmac_sha256"))),
    "no_verified": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "verified"))),
    "no_chain": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "chain"))),
    "fetched_ahead": ("VERSION_CONFLICT", partial(play, fetches=2, hashed=stopping)),
    "fetched_one_more": ("VERSION_CONFLICT", partial(play, total=lambda total: total + 1)),
    "hasty": ("VERSION_CONFLICT", hasty),
    "number_as_text": ("SUCCESS", partial(play, drafts=partial(mistyped, "event_sequence", "1"))),
    "true_as_number": ("SUCCESS", partial(play, drafts=partial(mistyped, "event_sequence", True))),
    "text_as_truth": ("SUCCESS", partial(play, drafts=partial(mistyped, "verified", "yes"))),
    "hashes_out_of_order": ("WRONG_HASH", partial(play, edit=out_of_order)),
    "acked_twice": ("VERSION_CONFLICT", partial(play, acks=lambda ack: 2)),
    "closed_early": ("VERSION_CONFLICT", partial(play, total=lambda total: 1)),
    "late_ack": ("EXPIRED_BEFORE_USE", partial(play, linger=("ack", 11))),
    "closed_as_the_period_ends": ("EXPIRED_BEFORE_USE", period_end("/webhook/ack", 2, 0, lambda events: events + 1)),
    "closed_in_the_last_instant": ("SUCCESS", period_end("/webhook/ack", 2, INSTANT, lambda events: events + 1)),
    "ack_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=("ack", 8))),
    "late_fetch": ("EXPIRED_BEFORE_USE", partial(play, linger=("fetch 2", 11))),
    "late_close": ("EXPIRED_BEFORE_USE", partial(play, linger=("final", 11))),
    "late_and_parsed": ("EXPIRED_BEFORE_USE", partial(play, linger=("ack", 11), hashed=parsed)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "first_answer": ("WRONG_VALUE", partial(play, hand_in=lambda answers: answers[0].text)),
    "fetch_on_the_dot": ("EXPIRED_BEFORE_USE", period_end("/webhook/event", 1, 0, lambda events: 2)),
    "fetch_in_the_last_instant": ("SUCCESS", period_end("/webhook/event", 1, INSTANT, lambda events: 2)),
    "upper_case_hmac": ("SIGNATURE_MISMATCH", partial(play, edit=upper_mac)),
    "number_of_the_next_event": ("VERSION_CONFLICT", partial(play, edit=of_the_next)),
    "closed_twice": ("VERSION_CONFLICT", closed_twice),
    "no_hash": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "body_sha256"))),
    "no_hashes": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "hashes"))),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "chain_backwards": (
        "WRONG_HASH",
        partial(play, chain=lambda bodies, hashes, part: b"".join(bodies[::-1]) + part.encode()),
    ),
    "forged_one_skipped": ("VERSION_CONFLICT", partial(play, acks=lambda ack: int(ack["verified"]))),
}

CELLS = {"validity": "late_ack", "integrity": "parsed_body", "both": "late_and_parsed"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
