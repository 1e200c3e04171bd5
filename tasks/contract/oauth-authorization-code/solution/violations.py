"""Clients that go wrong in one place each, with the label that place must earn."""

import json
import re
from functools import partial
from urllib.parse import quote, urlencode

import httpx
from solve import Pairs, Wait, own_state, parameters, play
from timing import INSTANT, Client, held, told_at, told_within


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


def with_other(where: str, name: str, value: str, place: str, given: Pairs, nonces: object = None) -> Pairs:
    """A request with another value for one header or field."""
    return {**given, name: value} if place == where else given


def stale_nonce(place: str, given: Pairs, nonces: list[str]) -> Pairs:
    """A client that never takes up a new nonce."""
    return {**given, "X-Session-Nonce": nonces[0]}


def own_numbers(place: str, given: Pairs, nonces: object) -> Pairs:
    """A client that gives the second request for a resource the number of the first."""
    return {**given, "X-Request-Sequence": str(int(given["X-Request-Sequence"]) - 1)} if place == "answer" else given


def skipped_number(where: str, place: str, given: Pairs, nonces: object) -> Pairs:
    """A client that leaves out a number before one place."""
    return {**given, "X-Request-Sequence": str(int(given["X-Request-Sequence"]) + 1)} if place == where else given


def clipped_bearer(place: str, given: Pairs, nonces: object) -> Pairs:
    """A client that cuts the access token."""
    return {**given, "Authorization": given["Authorization"][:-4]} if "Authorization" in given else given


def raw_query(fields: Pairs) -> str:
    """A client that pastes the state into the query as it is: its + becomes a space."""
    return "&".join(f"{name}={value}" for name, value in fields.items())


def twice_encoded(fields: Pairs) -> str:
    """A client that encodes the state before the library does."""
    return urlencode({**fields, "state": quote(fields["state"], safe="")})


def clipped_code(place: str, fields: Pairs) -> Pairs:
    """A client that cuts the code."""
    return {**fields, "code": fields["code"][:-4]} if place == "token" else fields


def spaced_code(place: str, fields: Pairs) -> Pairs:
    """A client that does not encode the code for the form: its + arrives as a space."""
    return {**fields, "code": fields["code"].replace("+", " ")} if place == "token" else fields


def rejoined(where: str, change: object) -> partial[None]:
    """A client that puts the texts of one proof together in its own way."""
    return partial(play, joined=lambda place, parts: change(parts) if place == where else "".join(parts))  # type: ignore[operator]


def foreign(redirects: list[str], state: str) -> Pairs:
    """A client that takes up the redirect that somebody else set off."""
    return next(given for given in map(parameters, redirects) if given["state"] != state)


def undecoded(redirects: list[str], state: str) -> Pairs:
    """A client that cuts the code out of the redirect as it stands there."""
    (own,) = [redirect for redirect in redirects if parameters(redirect)["state"] == state]
    return {"code": own.partition("&code=")[2].partition("&")[0]}


def other_end(place: str, fields: Pairs) -> Pairs:
    """A client whose state is not the one that its proofs are made of, at its end."""
    return {**fields, "state": fields["state"][:-2] + "/+"} if place == "authorize" else fields


def other_start(place: str, fields: Pairs) -> Pairs:
    """Likewise, at its start."""
    return {**fields, "state": "/+" + fields["state"][2:]} if place == "authorize" else fields


def with_header(where: str, name: str, value: str) -> partial[None]:
    """A client that sends another value in one header of one place."""
    return partial(play, headers=partial(with_other, where, name, value))


def token_until(spare: float) -> Client:
    """A client whose last use of the access token, the answer to its last challenge, comes so long before that ends."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        (count,) = re.findall(r"guards (\d+) resources", instruction)
        last = 2 * int(count) - 1
        held(play, "/api/protected/.*", told_within("expires_in"), 2, spare, turn=last)(api, instruction, wait)

    return client


def with_state(change: object) -> partial[None]:
    """A client whose state has another form."""
    return partial(play, state=lambda instruction: change(own_state(instruction)))  # type: ignore[operator]


def in_capitals(where: str, name: str, place: str, given: Pairs, nonces: object = None) -> Pairs:
    """A client that writes one digest in capitals."""
    return {**given, name: given[name].upper()} if place == where else given


def from_hex(parts: list[str]) -> str:
    """A client that decodes what it is given before it hashes that."""
    return bytes.fromhex("".join(parts[:-2])).decode("latin-1") + "".join(parts[-2:])


VIOLATIONS = {
    "foreign_redirect": ("WRONG_VALUE", partial(play, choose=foreign)),
    "undecoded_code": ("MUTATED_TOKEN", partial(play, choose=undecoded)),
    "other_redirect_uri": (
        "WRONG_VALUE",
        partial(play, fields=partial(with_other, "authorize", "redirect_uri", "https://a.example")),
    ),
    "no_redirect_uri": ("MISSING_CONSTRAINT", partial(play, fields=partial(without, "authorize", "redirect_uri"))),
    "redirect_uri_not_repeated": ("MISSING_CONSTRAINT", partial(play, fields=partial(without, "token", "redirect_uri"))),
    "other_redirect_uri_at_the_end": (
        "WRONG_VALUE",
        partial(play, fields=partial(with_other, "token", "redirect_uri", "https://a.example")),
    ),
    "short_state": ("WRONG_VALUE", partial(play, state=lambda instruction: "ab+/xyz")),
    "state_of_letters": ("WRONG_VALUE", partial(play, state=lambda instruction: "a" * 200)),
    "two_states": ("WRONG_HASH", partial(play, fields=other_start)),
    "state_with_another_end": ("WRONG_VALUE", partial(play, fields=other_end)),
    "raw_state": ("WRONG_VALUE", partial(play, query=raw_query)),
    "twice_encoded_state": ("WRONG_VALUE", partial(play, query=twice_encoded)),
    "visible_state": (
        "WRONG_VALUE",
        partial(
            play, fields=lambda place, given: {**given, "state": given["state"][:12] + "..."} if "state" in given else given
        ),
    ),
    "no_state": ("MISSING_CONSTRAINT", partial(play, fields=partial(without, "authorize", "state"))),
    "other_session": ("WRONG_VALUE", partial(play, fields=partial(with_other, "authorize", "session_id", "1"))),
    "token_response": ("WRONG_VALUE", partial(play, fields=partial(with_other, "authorize", "response_type", "token"))),
    "first_key": ("SIGNATURE_MISMATCH", partial(play, key=lambda keys: bytes.fromhex(keys[0]))),
    "hex_text_as_key": ("SIGNATURE_MISMATCH", partial(play, key=lambda keys: keys[-1].encode())),
    "signed_with_newline": ("SIGNATURE_MISMATCH", partial(play, signed=lambda body: body + b"\n")),
    "no_signature": ("MISSING_CONSTRAINT", partial(play, headers=partial(without, "consent", "X-Body-Signature"))),
    "other_signature_for_the_consent": ("SIGNATURE_MISMATCH", with_header("consent", "X-Body-Signature", "0" * 64)),
    "other_signature_for_the_token": ("SIGNATURE_MISMATCH", with_header("token", "X-Body-Signature", "0" * 64)),
    "other_proof_for_the_consent": ("WRONG_VALUE", with_header("consent", "X-Auth-Proof", "0:0")),
    "other_proof_for_the_token": ("WRONG_VALUE", with_header("token", "X-Auth-Proof", "0:0")),
    "other_proof_for_a_resource": ("WRONG_VALUE", with_header("resource", "X-Auth-Proof", "0:0")),
    "code_twice": ("EXPIRED_BEFORE_USE", partial(play, exchanges=2)),
    "code_twice_and_on": ("EXPIRED_BEFORE_USE", partial(play, exchanges=2, undeterred=True)),
    "clipped_code": ("MUTATED_TOKEN", partial(play, fields=clipped_code)),
    "spaced_code": ("MUTATED_TOKEN", partial(play, fields=spaced_code)),
    "skipped_number": ("VERSION_CONFLICT", partial(play, headers=partial(skipped_number, "resource"))),
    "number_2_first": ("VERSION_CONFLICT", partial(play, headers=partial(skipped_number, "authorize"))),
    "skipped_number_for_the_consent": ("VERSION_CONFLICT", partial(play, headers=partial(skipped_number, "consent"))),
    "skipped_number_for_the_token": ("VERSION_CONFLICT", partial(play, headers=partial(skipped_number, "token"))),
    "own_numbers": ("VERSION_CONFLICT", partial(play, headers=own_numbers)),
    "other_order": ("VERSION_CONFLICT", partial(play, order=lambda paths: paths[::-1])),
    "discovered_twice": ("VERSION_CONFLICT", looking_around("authorize", 1, "/oauth/discover")),
    "started_over": ("VERSION_CONFLICT", looking_around("resource", 2, "/oauth/discover")),
    "stale_nonce": ("WRONG_VALUE", partial(play, headers=stale_nonce)),
    "no_nonce": ("MISSING_CONSTRAINT", partial(play, headers=partial(without, "token", "X-Session-Nonce"))),
    "no_number": ("MISSING_CONSTRAINT", partial(play, headers=partial(without, "authorize", "X-Request-Sequence"))),
    "no_authorize": ("MISSING_CONSTRAINT", partial(play, skip="authorize")),
    "no_consent": ("MISSING_CONSTRAINT", partial(play, skip="consent")),
    "no_token": ("MISSING_TOKEN", partial(play, exchanges=0)),
    "no_bearer": ("MISSING_TOKEN", partial(play, headers=partial(without, "resource", "Authorization"))),
    "clipped_bearer": ("MUTATED_TOKEN", partial(play, headers=clipped_bearer)),
    "ignored_challenge": ("MISSING_CONSTRAINT", partial(play, headers=partial(without, "answer", "X-Cumulative-Proof"))),
    "dropped_nonce": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[1:]))),
    "challenge_nonce_dropped": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[:-3] + parts[-2:]))),
    "newest_first": ("WRONG_HASH", rejoined("answer", lambda parts: "".join(parts[-3::-1] + parts[-2:]))),
    "binding_by_lines": ("WRONG_HASH", rejoined("token", "\n".join)),
    "binding_reversed": ("WRONG_HASH", rejoined("token", lambda parts: "".join(parts[::-1]))),
    "consent_over_nonce": ("WRONG_HASH", rejoined("consent", lambda parts: parts[0])),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "no_auth_proof": ("MISSING_CONSTRAINT", partial(play, headers=partial(without, "resource", "X-Auth-Proof"))),
    "asked_for_what_is_not_there": ("SUCCESS", looking_around("token", 1, "/api/protected/resource-0")),
    "consent_as_the_nonce_ends": ("EXPIRED_BEFORE_USE", held(play, "/oauth/consent", told_at("deadline"), 1)),
    "consent_in_the_last_instant": ("SUCCESS", held(play, "/oauth/consent", told_at("deadline"), 1, INSTANT)),
    "token_as_the_code_ends": ("EXPIRED_BEFORE_USE", held(play, "/token", told_at("deadline"), 1)),
    "token_in_the_last_instant": ("SUCCESS", held(play, "/token", told_at("deadline"), 1, INSTANT)),
    "answer_as_the_challenge_ends": (
        "EXPIRED_BEFORE_USE",
        held(play, "/api/protected/.*", told_at("deadline"), 1, turn=2),
    ),
    "answer_in_the_last_instant": ("SUCCESS", held(play, "/api/protected/.*", told_at("deadline"), 1, INSTANT, turn=2)),
    "last_resource_as_the_token_ends": ("EXPIRED_BEFORE_USE", token_until(0)),
    "last_resource_in_the_last_instant": ("SUCCESS", token_until(INSTANT)),
    "late_consent": ("EXPIRED_BEFORE_USE", lingering("consent", 5)),
    "late_code": ("EXPIRED_BEFORE_USE", lingering("token", 5)),
    "late_token": ("EXPIRED_BEFORE_USE", lingering("resource", 10)),
    "late_answer": ("EXPIRED_BEFORE_USE", lingering("answer", 3)),
    "two_detours": ("EXPIRED_BEFORE_USE", looking_around("token", 2)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(lingering("token", 5), fields=clipped_code)),
    "contents_handed_in": ("WRONG_VALUE", partial(play, hand_in=json.dumps)),
    "state_one_short": ("WRONG_VALUE", with_state(lambda state: state[1:])),
    "state_one_long": ("WRONG_VALUE", with_state(lambda state: f"a{state}")),
    "state_without_plus": ("WRONG_VALUE", with_state(lambda state: state.replace("+", "a"))),
    "state_without_slash": ("WRONG_VALUE", with_state(lambda state: state.replace("/", "a"))),
    "state_with_a_dash": ("WRONG_VALUE", with_state(lambda state: f"-{state[1:]}")),
    "other_client": ("WRONG_VALUE", partial(play, fields=partial(with_other, "authorize", "client_id", "client-0"))),
    "other_client_at_the_end": ("WRONG_VALUE", partial(play, fields=partial(with_other, "token", "client_id", "client-0"))),
    "other_grant": ("WRONG_VALUE", partial(play, fields=partial(with_other, "token", "grant_type", "password"))),
    "no_binding_proof": ("MISSING_CONSTRAINT", partial(play, fields=partial(without, "token", "binding_proof"))),
    "no_consent_proof": ("MISSING_CONSTRAINT", partial(play, fields=partial(without, "consent", "consent_proof"))),
    "token_request_as_text": ("MISSING_CONSTRAINT", with_header("token", "Content-Type", "text/plain")),
    "upper_case_consent_proof": ("WRONG_HASH", partial(play, fields=partial(in_capitals, "consent", "consent_proof"))),
    "upper_case_binding_proof": ("WRONG_HASH", partial(play, fields=partial(in_capitals, "token", "binding_proof"))),
    "upper_case_cumulative_proof": ("WRONG_HASH", partial(play, headers=partial(in_capitals, "answer", "X-Cumulative-Proof"))),
    "upper_case_signature": ("SIGNATURE_MISMATCH", partial(play, headers=partial(in_capitals, "token", "X-Body-Signature"))),
    "decoded_nonces": ("WRONG_HASH", rejoined("answer", from_hex)),
    "refusal_counted": (
        "VERSION_CONFLICT",
        partial(looking_around("token", 1, "/api/protected/resource-0"), headers=partial(skipped_number, "token")),
    ),
    "replaced_token": ("EXPIRED_BEFORE_USE", partial(play, grants=2)),
    "another_state_on_the_second_grant": ("WRONG_VALUE", partial(play, grants=2, state_again=lambda state: "0" + state[1:])),
}

CELLS = {"validity": "late_code", "integrity": "clipped_code", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""

MUTATED = {"clip": "WRONG_VALUE", "linewrap": "WRONG_VALUE", "decode": "WRONG_VALUE", "resort": "SUCCESS"}
"""Clipping cuts whole parameters off, and their order is not signed; redirect_uri and state, which break, are not issued."""
