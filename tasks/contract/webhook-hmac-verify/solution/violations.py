"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from functools import partial

from solve import Ack, play


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
    "fetched_ahead": ("VERSION_CONFLICT", partial(play, fetches=2)),
    "acked_twice": ("VERSION_CONFLICT", partial(play, acks=2)),
    "closed_early": ("VERSION_CONFLICT", partial(play, stop_after=1)),
    "late_ack": ("EXPIRED_BEFORE_USE", partial(play, linger=("ack", 11))),
    "ack_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=("ack", 8))),
    "late_fetch": ("EXPIRED_BEFORE_USE", partial(play, linger=("fetch 2", 11))),
    "late_close": ("EXPIRED_BEFORE_USE", partial(play, linger=("final", 11))),
    "late_and_parsed": ("EXPIRED_BEFORE_USE", partial(play, linger=("ack", 11), hashed=parsed)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "first_answer": ("WRONG_VALUE", partial(play, hand_in=lambda answers: answers[0].text)),
}

CELLS = {"validity": "late_ack", "integrity": "parsed_body", "both": "late_and_parsed"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
