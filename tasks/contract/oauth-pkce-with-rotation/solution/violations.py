"""Clients that go wrong in one place each, with the label that place must earn."""

import hashlib
import json
import re
from collections.abc import Callable
from functools import partial

import httpx
from solve import Pairs, Wait, attested, own_verifier, play, s256
from timing import INSTANT, Answers, Client, after, held, told_at, told_within


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


def given_up(where: str, place: str, api: httpx.Client, wait: Wait) -> None:
    """A client that stops before it goes on to one place."""
    if place == where:
        raise InterruptedError(where)


def doubtful(challenge_of: Callable[[str], str]) -> partial[None]:
    """A client with a challenge of its own making, which stops before anybody looks at the verifier."""
    return partial(play, challenge_of=challenge_of, before=partial(given_up, "consent"))


def refresh_until(spare: float) -> Client:
    """A client that uses its first refresh token so many seconds before that ends."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        (seconds,) = re.findall(r"a refresh token (\d+)", " ".join(instruction.split()))
        held(play, "/oauth/token", after("/oauth/token", int(seconds)), 1, spare, turn=2)(api, instruction, wait)

    return client


def answer_end(answers: Answers) -> float:
    """When the newest challenge can no longer be answered, or with no living token."""
    return min(told_at("deadline")(answers), told_within("expires_in")(answers))


VIOLATIONS = {
    "plain_method": ("WRONG_VALUE", field("authorize", "code_challenge_method", lambda method: "plain")),
    "plain_challenge": ("WRONG_VALUE", doubtful(lambda verifier: verifier)),
    "padded_challenge": ("WRONG_VALUE", doubtful(lambda verifier: s256(verifier) + "=")),
    "hex_challenge": ("WRONG_VALUE", doubtful(lambda verifier: hashlib.sha256(verifier.encode()).hexdigest())),
    "challenge_of_another_verifier": ("WRONG_VALUE", partial(play, challenge_of=lambda v: s256(one_letter(v)))),
    "more_scope_than_agreed": ("WRONG_VALUE", field("authorize", "scope", lambda scope: f"{scope} admin")),
    "basic_scope_only": ("WRONG_VALUE", field("authorize", "scope", lambda scope: scope.split(" ")[0])),
    "scope_that_was_never_granted": ("WRONG_VALUE", field("refresh", "scope", lambda scope: f"{scope} admin")),
    "no_challenge": ("MISSING_CONSTRAINT", lacking("authorize", "code_challenge")),
    "altered_verifier": ("WRONG_VALUE", field("token", "code_verifier", one_letter)),
    "short_verifier": ("WRONG_VALUE", partial(play, verifier=lambda text: own_verifier(text)[:64])),
    "verifier_a_character_short": ("WRONG_VALUE", partial(play, verifier=lambda text: own_verifier(text)[:-1])),
    "verifier_a_character_long": ("WRONG_VALUE", partial(play, verifier=lambda text: own_verifier(text) + "0")),
    "verifier_with_a_plus": ("WRONG_VALUE", partial(play, verifier=lambda text: own_verifier(text)[:-1] + "+")),
    "other_response_type": ("WRONG_VALUE", field("authorize", "response_type", lambda kind: "token")),
    "other_client_at_first": ("WRONG_VALUE", field("authorize", "client_id", clipped)),
    "other_grant_type": ("WRONG_VALUE", field("token", "grant_type", lambda kind: "password")),
    "untyped_form": ("MISSING_CONSTRAINT", header("token", "Content-Type", lambda kind: "text/plain")),
    "no_verifier": ("MISSING_CONSTRAINT", lacking("token", "code_verifier")),
    "clipped_code": ("MUTATED_TOKEN", field("token", "code", clipped)),
    "code_twice": ("EXPIRED_BEFORE_USE", partial(play, twice="token")),
    "old_refresh_token": ("EXPIRED_BEFORE_USE", partial(play, twice="refresh")),
    "refreshed_early_and_again": ("SUCCESS", partial(play, skip=("wait",))),
    "no_refresh_token": ("MISSING_TOKEN", lacking("refresh", "refresh_token")),
    "other_client_for_the_token": ("WRONG_VALUE", field("token", "client_id", clipped)),
    "other_client_for_the_refresh": ("WRONG_VALUE", field("refresh", "client_id", clipped)),
    "clipped_token_introspected": ("MUTATED_TOKEN", field("introspect", "token", clipped)),
    "clipped_refresh_token": ("MUTATED_TOKEN", field("refresh", "refresh_token", clipped)),
    "visible_refresh_token": ("WRONG_VALUE", field("refresh", "refresh_token", lambda token: token[:9] + "...")),
    "basic_scope_again": ("MISSING_CONSTRAINT", field("refresh", "scope", lambda scope: scope.split(" ")[0])),
    "only_more_scope": ("MISSING_CONSTRAINT", field("refresh", "scope", lambda scope: scope.split(" ")[1])),
    "other_scope": ("WRONG_VALUE", field("refresh", "scope", lambda scope: scope.replace(" ", ","))),
    "no_refresh": ("MISSING_CONSTRAINT", partial(play, skip=("wait", "refresh"))),
    "no_refresh_after_the_end": ("EXPIRED_BEFORE_USE", partial(play, skip=("refresh",))),
    "no_bearer": ("MISSING_TOKEN", lacking("basic", "Authorization")),
    "clipped_bearer": ("MUTATED_TOKEN", header("complete", "Authorization", clipped)),
    "other_order": ("VERSION_CONFLICT", partial(play, order=lambda paths: paths[::-1])),
    "skipped_number": ("VERSION_CONFLICT", header("basic", "X-Request-Sequence", more)),
    "number_2_first": ("VERSION_CONFLICT", header("authorize", "X-Request-Sequence", more)),
    "skipped_number_for_the_consent": ("VERSION_CONFLICT", header("consent", "X-Request-Sequence", more)),
    "skipped_number_for_the_token": ("VERSION_CONFLICT", header("token", "X-Request-Sequence", more)),
    "skipped_number_for_introspection": ("VERSION_CONFLICT", header("introspect", "X-Request-Sequence", more)),
    "skipped_number_for_completion": ("VERSION_CONFLICT", header("complete", "X-Request-Sequence", more)),
    "numbers_start_over": ("VERSION_CONFLICT", header("refresh", "X-Request-Sequence", lambda number: "1")),
    "discovered_twice": ("VERSION_CONFLICT", looking_around("token", 1, "/.well-known/openid-configuration")),
    "no_session_nonce": ("MISSING_CONSTRAINT", lacking("authorize", "X-Session-Nonce")),
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
    "other_signature_at_introspection": ("SIGNATURE_MISMATCH", header("introspect", "X-Body-Signature", lambda mac: "0" * 64)),
    "other_signature_at_completion": ("SIGNATURE_MISMATCH", header("complete", "X-Body-Signature", lambda mac: "0" * 64)),
    "no_signature": ("MISSING_CONSTRAINT", lacking("introspect", "X-Body-Signature")),
    "no_last_resources": ("MISSING_CONSTRAINT", partial(play, skip=("extra",))),
    "no_introspection": ("MISSING_CONSTRAINT", partial(play, skip=("introspect",))),
    "consent_over_verifier": ("WRONG_HASH", rejoined("consent", lambda parts: parts[0])),
    "binding_reversed": ("WRONG_HASH", rejoined("token", lambda parts: "".join(parts[::-1]))),
    "session_by_bars": ("WRONG_HASH", rejoined("complete", "|".join)),
    "dropped_nonce": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[1:]))),
    "challenge_left_out": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[:-2] + parts[-1:]))),
    "anchor_left_out": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[:-1]))),
    "last_nonce_left_out": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[:-3] + parts[-2:]))),
    "binding_over_a_form_decoded_code": (
        "WRONG_HASH",
        rejoined("token", lambda parts: "".join(parts).replace("+", " ")),
    ),
    "session_proof_in_capitals": ("WRONG_HASH", field("complete", "session_proof", str.upper)),
    "ignored_challenge": ("MISSING_CONSTRAINT", lacking("answer", "cumulative_proof")),
    "no_anchor": ("MISSING_CONSTRAINT", lacking("complete", "anchor")),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "asked_for_what_is_not_there": ("SUCCESS", looking_around("basic", 1, "/api/resource/0")),
    "consent_as_the_nonce_ends": ("EXPIRED_BEFORE_USE", held(play, "/oauth/consent", told_at("deadline"), 1)),
    "consent_in_the_last_instant": ("SUCCESS", held(play, "/oauth/consent", told_at("deadline"), 1, INSTANT)),
    "exchange_as_the_code_ends": ("EXPIRED_BEFORE_USE", held(play, "/oauth/token", told_at("deadline"), 1)),
    "exchange_in_the_last_instant": ("SUCCESS", held(play, "/oauth/token", told_at("deadline"), 1, INSTANT)),
    "resource_as_the_token_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_within("expires_in"), 1, turn=2)),
    "resource_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_within("expires_in"), 1, INSTANT, turn=2)),
    "refresh_as_its_token_ends": ("EXPIRED_BEFORE_USE", refresh_until(0)),
    "refresh_in_the_last_instant": ("SUCCESS", refresh_until(INSTANT)),
    "answer_as_the_challenge_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/complete", answer_end, 1, turn=2)),
    "answer_in_the_last_instant": ("SUCCESS", held(play, "/api/complete", answer_end, 1, INSTANT, turn=2)),
    "introspected_as_the_token_ends": (
        "EXPIRED_BEFORE_USE",
        held(play, "/oauth/introspect", told_within("expires_in"), 1),
    ),
    "completed_as_the_token_ends": ("EXPIRED_BEFORE_USE", held(play, "/api/complete", told_within("expires_in"), 2)),
    "completed_in_the_last_instant": ("SUCCESS", held(play, "/api/complete", told_within("expires_in"), 2, INSTANT)),
    "late_consent": ("EXPIRED_BEFORE_USE", lingering("consent", 6)),
    "late_code": ("EXPIRED_BEFORE_USE", lingering("token", 8)),
    "late_access": ("EXPIRED_BEFORE_USE", lingering("basic", 11)),
    "late_refresh": ("EXPIRED_BEFORE_USE", lingering("refresh", 10)),
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
    "no_scope_named_and_answer_handed_in": (
        "WRONG_VALUE",  # by the submission alone: a refresh that names no scope asks for all that was granted
        partial(play, fields=partial(without, "refresh", "scope"), hand_in=json.dumps),
    ),
    "answer_handed_in": ("WRONG_VALUE", partial(play, hand_in=json.dumps)),
}

CELLS = {"validity": "late_code", "integrity": "clipped_code", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""

MUTATED = {"linewrap": "WRONG_VALUE", "resort": "SUCCESS"}
"""The wrap falls into the scope, and the order of parameters is not signed."""
