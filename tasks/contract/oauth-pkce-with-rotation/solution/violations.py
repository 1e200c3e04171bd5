"""Clients that go wrong in one place each, with the label that place must earn."""

import hashlib
import json
from functools import partial

import httpx
from solve import Pairs, Wait, attested, play, s256


def lingering(where: str, seconds: float) -> partial[None]:
    """A client that waits before it goes on to one place."""

    def before(place: str, api: httpx.Client, wait: Wait) -> None:
        if place == where:
            wait(seconds)

    return partial(play, before=before)


def looking_around(where: str, times: int, path: str = "/oauth/status") -> partial[None]:
    """A client that asks for something else before it goes on to one place."""

    def before(place: str, api: httpx.Client, wait: Wait) -> None:
        for _ in range(times if place == where else 0):
            api.get(path)

    return partial(play, before=before)


def without(where: str, name: str, place: str, given: Pairs, nonces: object = None) -> Pairs:
    """A request that lacks one header or field."""
    return {k: v for k, v in given.items() if (place, k) != (where, name)}


def changed(where: str, name: str, change: object, place: str, given: Pairs, nonces: object = None) -> Pairs:
    """A request with a change to one header or field."""
    return {**given, name: change(given[name])} if place == where else given  # type: ignore[operator]


def header(where: str, name: str, change: object) -> partial[None]:
    """A client that changes one header of one place."""
    return partial(play, headers=partial(changed, where, name, change))


def field(where: str, name: str, change: object) -> partial[None]:
    """A client that changes one field or parameter of one place."""
    return partial(play, fields=partial(changed, where, name, change))


def lacking(where: str, name: str) -> partial[None]:
    """A client that leaves one header or field of one place out."""
    return partial(play, headers=partial(without, where, name), fields=partial(without, where, name))


def rejoined(where: str, change: object) -> partial[None]:
    """A client that puts the texts of one proof together in its own way."""
    return partial(play, joined=lambda place, parts: change(parts) if place == where else "".join(parts))  # type: ignore[operator]


def clipped(text: str) -> str:
    """A token cut short."""
    return text[:-4]


def more(number: str) -> str:
    """The number after the one that is due."""
    return str(int(number) + 1)


def one_letter(verifier: str) -> str:
    """A verifier with one character changed."""
    return ("b" if verifier[0] == "a" else "a") + verifier[1:]


def rewritten(body: bytes) -> bytes:
    """A JSON body as another serialiser would write it; a form stays as it is."""
    return json.dumps(json.loads(body), separators=(",", ":")).encode() if body.startswith(b"{") else body


def no_count(verifier: str, nonce: str, refreshes: int) -> str:
    """A client that goes on attesting as before the refresh."""
    return attested(verifier, nonce, 0)


def always_count(verifier: str, nonce: str, refreshes: int) -> str:
    """A client that attests a count before there was a refresh."""
    return f"{verifier}|{nonce}|{refreshes}"


VIOLATIONS = {
    "plain_method": ("WRONG_VALUE", field("authorize", "code_challenge_method", lambda method: "plain")),
    "plain_challenge": ("WRONG_VALUE", partial(play, challenge_of=lambda verifier: verifier)),
    "padded_challenge": ("WRONG_VALUE", partial(play, challenge_of=lambda verifier: s256(verifier) + "=")),
    "hex_challenge": ("WRONG_VALUE", partial(play, challenge_of=lambda v: hashlib.sha256(v.encode()).hexdigest())),
    "all_scope_at_once": ("WRONG_VALUE", field("authorize", "scope", lambda scope: f"{scope} admin")),
    "no_challenge": ("MISSING_CONSTRAINT", lacking("authorize", "code_challenge")),
    "altered_verifier": ("WRONG_VALUE", field("token", "code_verifier", one_letter)),
    "short_verifier": ("WRONG_VALUE", field("token", "code_verifier", lambda verifier: verifier[:64])),
    "no_verifier": ("MISSING_CONSTRAINT", lacking("token", "code_verifier")),
    "clipped_code": ("MUTATED_TOKEN", field("token", "code", clipped)),
    "code_twice": ("EXPIRED_BEFORE_USE", partial(play, twice="token")),
    "old_refresh_token": ("EXPIRED_BEFORE_USE", partial(play, twice="refresh")),
    "clipped_refresh_token": ("MUTATED_TOKEN", field("refresh", "refresh_token", clipped)),
    "visible_refresh_token": ("WRONG_VALUE", field("refresh", "refresh_token", lambda token: token[:9] + "...")),
    "no_more_scope": ("MISSING_CONSTRAINT", lacking("refresh", "scope")),
    "basic_scope_again": ("MISSING_CONSTRAINT", field("refresh", "scope", lambda scope: scope.split(" ")[0])),
    "only_more_scope": ("MISSING_CONSTRAINT", field("refresh", "scope", lambda scope: scope.split(" ")[1])),
    "other_scope": ("WRONG_VALUE", field("refresh", "scope", lambda scope: scope.replace(" ", ","))),
    "no_refresh": ("MISSING_CONSTRAINT", partial(play, skip="wait")),
    "no_refresh_after_the_end": ("EXPIRED_BEFORE_USE", partial(play, skip="refresh")),
    "no_bearer": ("MISSING_TOKEN", lacking("basic", "Authorization")),
    "clipped_bearer": ("MUTATED_TOKEN", header("complete", "Authorization", clipped)),
    "other_order": ("VERSION_CONFLICT", partial(play, order=lambda paths: paths[::-1])),
    "skipped_number": ("VERSION_CONFLICT", header("basic", "X-Request-Sequence", more)),
    "numbers_start_over": ("VERSION_CONFLICT", header("refresh", "X-Request-Sequence", lambda number: "1")),
    "discovered_twice": ("VERSION_CONFLICT", looking_around("token", 1, "/.well-known/openid-configuration")),
    "no_number": ("MISSING_CONSTRAINT", lacking("authorize", "X-Request-Sequence")),
    "stale_nonce": ("WRONG_VALUE", partial(play, headers=lambda place, given, n: {**given, "X-Session-Nonce": n[0]})),
    "same_previous_nonce": ("WRONG_VALUE", partial(play, headers=lambda p, given, n: {**given, "X-Previous-Nonce": n[-1]})),
    "no_previous_nonce": ("MISSING_CONSTRAINT", lacking("consent", "X-Previous-Nonce")),
    "no_attestation": ("MISSING_CONSTRAINT", lacking("token", "X-Client-Attestation")),
    "old_formula": ("WRONG_VALUE", partial(play, attest=no_count)),
    "count_from_the_start": ("WRONG_VALUE", partial(play, attest=always_count)),
    "attested_without_bar": ("WRONG_VALUE", partial(play, attest=lambda verifier, nonce, count: verifier + nonce)),
    "attested_challenge": ("WRONG_VALUE", partial(play, attest=lambda v, nonce, count: attested(s256(v), nonce, count))),
    "first_key": ("SIGNATURE_MISMATCH", partial(play, key=lambda keys: bytes.fromhex(keys[0]))),
    "key_before_introspection": ("SIGNATURE_MISMATCH", partial(play, key=lambda keys: bytes.fromhex(keys[:2][-1]))),
    "hex_text_as_key": ("SIGNATURE_MISMATCH", partial(play, key=lambda keys: keys[-1].encode())),
    "rewritten_body": ("SIGNATURE_MISMATCH", partial(play, signed=rewritten)),
    "no_signature": ("MISSING_CONSTRAINT", lacking("introspect", "X-Body-Signature")),
    "no_last_resources": ("MISSING_CONSTRAINT", partial(play, skip="extra")),
    "no_introspection": ("MISSING_CONSTRAINT", partial(play, skip="introspect")),
    "consent_over_verifier": ("WRONG_HASH", rejoined("consent", lambda parts: parts[0])),
    "binding_reversed": ("WRONG_HASH", rejoined("token", lambda parts: "".join(parts[::-1]))),
    "session_by_bars": ("WRONG_HASH", rejoined("complete", "|".join)),
    "dropped_nonce": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[1:]))),
    "challenge_left_out": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[:-2] + parts[-1:]))),
    "ignored_challenge": ("MISSING_CONSTRAINT", lacking("answer", "cumulative_proof")),
    "no_anchor": ("MISSING_CONSTRAINT", lacking("complete", "anchor")),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "late_consent": ("EXPIRED_BEFORE_USE", lingering("consent", 6)),
    "late_code": ("EXPIRED_BEFORE_USE", lingering("token", 8)),
    "code_on_the_dot": ("EXPIRED_BEFORE_USE", lingering("token", 7)),
    "late_access": ("EXPIRED_BEFORE_USE", lingering("basic", 11)),
    "late_refresh": ("EXPIRED_BEFORE_USE", lingering("refresh", 10)),
    "refresh_on_the_dot": ("EXPIRED_BEFORE_USE", lingering("refresh", 5)),
    "late_and_clipped_refresh": (
        "EXPIRED_BEFORE_USE",
        partial(lingering("refresh", 10), fields=partial(changed, "refresh", "refresh_token", clipped)),
    ),
    "late_completion": ("EXPIRED_BEFORE_USE", lingering("complete", 11)),
    "late_answer": ("EXPIRED_BEFORE_USE", lingering("answer", 6)),
    "many_detours": ("EXPIRED_BEFORE_USE", looking_around("introspect", 10)),
    "late_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(lingering("token", 8), fields=partial(changed, "token", "code", clipped)),
    ),
    "answer_handed_in": ("WRONG_VALUE", partial(play, hand_in=json.dumps)),
}

CELLS = {"validity": "late_code", "integrity": "clipped_code", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""

MUTATED = {"linewrap": "MISSING_CONSTRAINT", "resort": "SUCCESS"}
"""The wrap falls into a parameter's name, and the order of parameters is not signed."""
