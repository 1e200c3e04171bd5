"""Clients that go wrong in one place each, with the label that place must earn.

The certificate is replaced after data 2 or 3 by seed, so whoever does not follow meets it at data 3 or 4.
"""

import base64
import hashlib
import math
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
from reading import anchor_slice
from solve import Certificates, Wait, answered_at, challenge, handshake, mac, play, sha256
from timing import INSTANT, Client, held, told_at


def lines(certs: Certificates, end: str) -> str:
    """The newest certificate in lines of 64 characters."""
    return end.join(certs[-1][start : start + 64] for start in range(0, len(certs[-1]), 64))


def wrapped(certs: Certificates) -> str:
    """A client whose line breaks became spaces, the only form in which a header carries them."""
    return f":{lines(certs, ' ')}:"


def escaped(certs: Certificates) -> str:
    """A client that escapes the whole PEM, as proxies did before there was a standard."""
    return quote(f"-----BEGIN CERTIFICATE-----\n{lines(certs, chr(10))}\n-----END CERTIFICATE-----\n", safe="")


def urlsafe(certs: Certificates) -> str:
    """A client with the other base64 alphabet."""
    return f":{certs[-1].replace('+', '-').replace('/', '_')}:"


def hash_of_der(certs: Certificates) -> str:
    """A bearer over the decoded certificate, as fingerprints are made."""
    return hashlib.sha256(base64.b64decode(certs[-1])).hexdigest()


def hash_of_pem(certs: Certificates) -> str:
    """A bearer over the certificate's file."""
    return sha256(f"-----BEGIN CERTIFICATE-----\n{lines(certs, chr(10))}\n-----END CERTIFICATE-----\n")


def base64_signature(part: str, nonce: str) -> str:
    """A signature in base64."""
    return base64.b64encode(bytes.fromhex(mac(part.encode(), nonce.encode()))).decode()


def other_slice(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that miscounts the characters of its key by one."""
    play(api, instruction, wait, sign=lambda part, nonce: mac(anchor_slice(instruction, 1).encode(), nonce.encode()))


def signed(instruction: str, nonce: str) -> dict[str, str | None]:
    """A nonce with its right signature."""
    return {"nonce": nonce, "signature": mac(anchor_slice(instruction).encode(), nonce.encode())}


def second_handshake(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that starts over, with a fresh challenge."""
    for _ in range(2):
        handshake(api, signed(instruction, challenge(api)))


def nonce_used_again(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends its handshake twice."""
    nonce = challenge(api)
    for _ in range(2):
        handshake(api, signed(instruction, nonce))


def no_challenge(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that makes up a nonce of its own."""
    handshake(api, signed(instruction, "0" * 48))


def no_nonce(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends the signature alone."""
    handshake(api, {**signed(instruction, challenge(api)), "nonce": None})


def without(field: str, final: dict[str, Any]) -> dict[str, Any]:
    """A completion that lacks one field."""
    return {name: value for name, value in final.items() if name != field}


def at_the_end(header: str) -> Client:
    """A client whose completion lacks one header."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        def before(request: httpx.Request) -> None:
            if request.url.path == "/api/complete":
                request.headers.pop(header)

        api.event_hooks = {"request": [before]}
        play(api, instruction, wait)

    return client


def as_it_starts(api: httpx.Client, instruction: str, wait: Wait, *, early: float = 0) -> None:
    """A client that wears a new certificate from the moment on at which it starts to work, or so many seconds before."""

    def after(answer: httpx.Response) -> None:
        answer.read()
        if "starts_at" in answer.text:
            wait(round(answer.json()["starts_at"] - answered_at(answer) - 5 - early, 3))

    api.event_hooks = {"response": [after]}
    play(api, instruction, wait, ahead=math.inf)


def hasty(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that is an instant too early with it; refused, or where no certificate has such a time, it hands in nothing."""
    try:
        if "starts_at" not in instruction:
            raise LookupError
        as_it_starts(api, instruction, wait, early=INSTANT)
    except (LookupError, httpx.HTTPStatusError):
        api.post("/submission", content=b"")


VIOLATIONS = {
    "late_signature": ("EXPIRED_BEFORE_USE", partial(play, linger=("sign", 60))),
    "nonce_used_again": ("EXPIRED_BEFORE_USE", nonce_used_again),
    "older_nonce": ("EXPIRED_BEFORE_USE", partial(play, challenges=2)),
    "late_certificate": ("EXPIRED_BEFORE_USE", partial(play, linger=("data 1", 45))),
    "late_after_renewal": ("EXPIRED_BEFORE_USE", partial(play, linger=("complete", 20))),
    "renewal_ignored": (
        "EXPIRED_BEFORE_USE",
        partial(play, worn=lambda certs: f":{certs[0]}:", bound=lambda certs: sha256(certs[0])),
    ),
    "old_certificate_new_bearer": ("EXPIRED_BEFORE_USE", partial(play, worn=lambda certs: f":{certs[0]}:")),
    "late_and_wrapped": ("EXPIRED_BEFORE_USE", partial(play, linger=("data 1", 45), worn=wrapped)),
    "wrapped_certificate": ("MUTATED_TOKEN", partial(play, worn=wrapped)),
    "escaped_pem": ("MUTATED_TOKEN", partial(play, worn=escaped)),
    "urlsafe_certificate": ("MUTATED_TOKEN", partial(play, worn=urlsafe)),
    "no_colons": ("MUTATED_TOKEN", partial(play, worn=lambda certs: certs[-1])),
    "clipped_certificate": ("MUTATED_TOKEN", partial(play, worn=lambda certs: f":{certs[-1]}"[:200])),
    "visible_certificate": ("WRONG_VALUE", partial(play, worn=lambda certs: f":{certs[-1][:80]}...:")),
    "hash_of_der": ("WRONG_HASH", partial(play, bound=hash_of_der)),
    "hash_of_pem": ("WRONG_HASH", partial(play, bound=hash_of_pem)),
    "hash_with_colons": ("WRONG_HASH", partial(play, bound=lambda certs: sha256(f":{certs[-1]}:"))),
    "bearer_not_renewed": ("WRONG_HASH", partial(play, bound=lambda certs: sha256(certs[0]))),
    "key_from_hex": (
        "SIGNATURE_MISMATCH",
        partial(play, sign=lambda part, nonce: mac(bytes.fromhex(part), nonce.encode())),
    ),
    "nonce_from_hex": (
        "SIGNATURE_MISMATCH",
        partial(play, sign=lambda part, nonce: mac(part.encode(), bytes.fromhex(nonce))),
    ),
    "key_and_nonce_swapped": (
        "SIGNATURE_MISMATCH",
        partial(play, sign=lambda part, nonce: mac(nonce.encode(), part.encode())),
    ),
    "plain_digest": ("SIGNATURE_MISMATCH", partial(play, sign=lambda part, nonce: sha256(part + nonce))),
    "base64_signature": ("SIGNATURE_MISMATCH", partial(play, sign=base64_signature)),
    "other_slice": ("SIGNATURE_MISMATCH", other_slice),
    "no_signature": ("MISSING_CONSTRAINT", partial(play, sign=lambda part, nonce: None)),
    "second_handshake": ("VERSION_CONFLICT", second_handshake),
    "no_challenge": ("MISSING_CONSTRAINT", no_challenge),
    "no_nonce": ("MISSING_TOKEN", no_nonce),
    "no_handshake": ("MISSING_CONSTRAINT", partial(play, challenges=0)),
    "no_certificate": ("MISSING_TOKEN", partial(play, worn=lambda certs: None)),
    "no_bearer": ("MISSING_TOKEN", partial(play, bound=lambda certs: None)),
    "no_request_token": ("MISSING_CONSTRAINT", partial(play, token=lambda tokens: None)),
    "first_request_token": ("WRONG_VALUE", partial(play, token=lambda tokens: tokens[0])),
    "data_out_of_order": ("WRONG_VALUE", partial(play, plan=lambda numbers: [1, 3, 2, 4])),
    "data_twice": ("WRONG_VALUE", partial(play, plan=lambda numbers: [1, *numbers])),
    "completed_early": ("MISSING_CONSTRAINT", partial(play, plan=lambda numbers: numbers[:1])),
    "digest_of_lines": ("WRONG_HASH", partial(play, digest=lambda fragments: sha256("\n".join(fragments)))),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "no_digest": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "digest"))),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "fragments_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, fragments: "".join(fragments))),
    "signature_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/handshake/sign", told_at("expires_at"), 5)),
    "signature_in_the_last_instant": ("SUCCESS", held(play, "/handshake/sign", told_at("expires_at"), 5, INSTANT)),
    "data_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/data/2", told_at("expires_at"), 5)),
    # data 3 comes 5 s later, and by seed with the same certificate
    "data_in_the_last_instant": ("SUCCESS", held(play, "/api/data/2", told_at("expires_at"), 5, 5 + INSTANT)),
    "completion_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/complete", told_at("expires_at"), 5)),
    "completion_in_the_last_instant": ("SUCCESS", held(play, "/api/complete", told_at("expires_at"), 5, INSTANT)),
    "upper_case_signature": (
        "SIGNATURE_MISMATCH",
        partial(play, sign=lambda part, nonce: mac(part.encode(), nonce.encode()).upper()),
    ),
    "upper_case_bearer": ("WRONG_HASH", partial(play, bound=lambda certs: sha256(certs[-1]).upper())),
    "upper_case_digest": ("WRONG_HASH", partial(play, digest=lambda fragments: sha256("".join(fragments)).upper())),
    "digest_backwards": ("WRONG_HASH", partial(play, digest=lambda fragments: sha256("".join(fragments[::-1])))),
    # in the turn of level 4 (each third client), where a certificate has a time
    "new_certificate_as_it_starts": ("SUCCESS", as_it_starts),
    "no_bearer_at_the_end": ("MISSING_TOKEN", at_the_end("Authorization")),
    "no_request_token_at_the_end": ("MISSING_CONSTRAINT", at_the_end("X-Request-Token")),
    "new_certificate_an_instant_early": ("WRONG_VALUE", hasty),
    "no_certificate_at_the_end": ("MISSING_TOKEN", at_the_end("Client-Cert")),
}

CELLS = {"validity": "late_certificate", "integrity": "wrapped_certificate", "both": "late_and_wrapped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
