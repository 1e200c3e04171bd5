"""Clients that go wrong in one place each, with the label that place must earn."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import httpx
from solve import Headers, Order, Pairs, Wait, by_encoded, header_lines, marked, play, strict
from timing import INSTANT, held, told_at


def as_given(pairs: Pairs, encode: Callable[[str], str]) -> Pairs:
    """A client that signs the query in the order of the URL."""
    return [(encode(name), encode(value)) for name, value in pairs]


def sorted_first(pairs: Pairs, encode: Callable[[str], str]) -> Pairs:
    """A client that sorts before it encodes."""
    return as_given(sorted(map(tuple, pairs)), encode)


def sorted_joined(pairs: Pairs, encode: Callable[[str], str]) -> Pairs:
    """A client that sorts `name=value` texts, as shells do: an item-id comes before an item."""
    return sorted(by_encoded(pairs, encode), key="=".join)


def verbatim_lines(headers: Headers) -> list[str]:
    """A client that leaves inner spaces as they are."""
    return [f"{name.lower()}:{headers[name]}" for name in sorted(headers, key=str.lower)]


def sorted_without_case(pairs: Pairs, encode: Callable[[str], str]) -> Pairs:
    """A client that sorts as a dictionary does, where capitals do not come first."""
    return sorted(by_encoded(pairs, encode), key=lambda pair: (pair[0].lower(), pair[1]))


def lines_but(*places: int) -> partial[None]:
    """A client that leaves these lines out of what it signs."""
    return partial(play, joined=lambda lines: "\n".join(line for at, line in enumerate(lines, -len(lines)) if at not in places))


def lower_case_method(lines: list[str]) -> str:
    """A client that signs the method as its library names it."""
    return "\n".join([lines[0].lower(), *lines[1:]])


def query_after_the_path(lines: list[str]) -> str:
    """A client that signs the whole target where the path alone belongs."""
    return "\n".join([lines[0], f"{lines[1]}?{lines[2]}", *lines[2:]])


def at(sequence: int, seconds: float) -> Callable[[int], float]:
    """A client that waits before one order."""
    return lambda due: seconds if due == sequence else 0


def first_secret(keys: dict[str, str], key_id: str) -> str:
    """A client that did not notice that keys rotate."""
    return next(iter(keys.values()))


def first_key(order: Order, before: Order) -> Order:
    """A client that goes on with the key of the order before."""
    return {**order, "key_id": before["key_id"]}


def used_nonce(order: Order, before: Order) -> Order:
    """A client that goes on with the nonce of the order before."""
    return {**order, "nonce": before["nonce"]}


def ahead(order: Order, before: Order) -> Order:
    """A client that goes on to the next stage one order too early."""
    return {**order, "path": order["path"].replace("/verify/", "/finalize/")}


def other_method(order: Order, before: Order) -> Order:
    """A client that sends all orders by one method, that of none of its own."""
    return {**order, "method": "PUT" if order["method"] == "POST" else "POST"}


def without(name: str, headers: Headers) -> Headers:
    """A request that lacks one header."""
    return {given: value for given, value in headers.items() if given != name}


def noteless(headers: Headers) -> Headers:
    """A request that lacks a given header: nothing seems to depend on it."""
    return {name: value for name, value in headers.items() if not name.endswith("-Zone")}


def squeezed(headers: Headers) -> Headers:
    """A client that sends header values as it signed them."""
    return {name: re.sub(" +", " ", value) for name, value in headers.items()}


def unsigned_nonce(headers: Headers) -> Headers:
    """A client that leaves the nonce out of its list."""
    return {**headers, "Authorization": headers["Authorization"].replace("x-nonce;", "")}


def changed(name: str, change: Callable[[str], str], headers: Headers) -> Headers:
    """A request with one header changed after signing."""
    return {**headers, name: change(headers[name])}


def named(field: str, change: Callable[[str], str]) -> Callable[[Order, Order], Order]:
    """A client that changes one field of each order, and signs what it sends."""
    return lambda order, before: {**order, field: change(order[field])}


def undiscovered(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for the parameters first."""
    headers = {"X-Discovery-Token": "none-yet", "X-Seed-Anchor": marked(instruction, "", 0)}
    api.get("/api/signing-params", headers=headers).raise_for_status()


def unparametrised(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends an order before it was given any."""
    fixed = [f"{name}{zone}" for name in ("X-Memo", "X-Cargo", "X-Route") for zone in ("", "-Zone")]
    names = ("X-Nonce", "X-Binding", "X-Proof", "X-Body-HMAC", "Content-Type", *fixed)
    said = "PARLEY-HMAC-SHA256 KeyId=1, SignedHeaders=x, Signature=0"
    headers = {**dict.fromkeys(names, "none-yet"), "X-Sequence": "1", "Authorization": said}
    api.post("/api/submit/1", headers=headers).raise_for_status()


def elsewhere_first(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends something to a stage which does not exist, and then does all right."""
    api.post("/api/prepare/1")
    play(api, instruction, wait)


def hasty(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that comes an instant before a nonce works, and goes no further; where all work at once, one that is late."""
    early: list[float] = []

    def settle(left: float) -> float:
        if early:
            raise InterruptedError
        if left > 0:
            early.append(left)
        return left - INSTANT

    play(api, instruction, wait, settle=settle, pause=lambda sequence: 3 if sequence == 5 and not early else 0)


def one_more(api: httpx.Client, last: dict[str, Any]) -> None:
    """The last order again, as the next one."""
    api.send(api.build_request(**{**last, "headers": {**last["headers"], "X-Sequence": "6"}}))


VIOLATIONS = {
    "unsorted_query": ("SIGNATURE_MISMATCH", partial(play, arrange=as_given)),
    "sorted_then_encoded": ("SIGNATURE_MISMATCH", partial(play, arrange=sorted_first)),
    "sorted_when_joined": ("SIGNATURE_MISMATCH", partial(play, arrange=sorted_joined)),
    "form_encoded": ("SIGNATURE_MISMATCH", partial(play, encode=quote_plus)),
    "slash_kept": ("SIGNATURE_MISMATCH", partial(play, encode=quote)),
    "decoded_path": ("SIGNATURE_MISMATCH", partial(play, path=unquote)),
    "encoded_twice": ("SIGNATURE_MISMATCH", partial(play, path=quote)),
    "stage_without_order": ("SIGNATURE_MISMATCH", partial(play, path=lambda path: path.rpartition("/")[0])),
    "query_after_the_path": ("SIGNATURE_MISMATCH", partial(play, joined=query_after_the_path)),
    "method_in_lower_case": ("SIGNATURE_MISMATCH", partial(play, joined=lower_case_method)),
    "joined_by_crlf": ("SIGNATURE_MISMATCH", partial(play, joined="\r\n".join)),
    "line_feed_at_the_end": ("SIGNATURE_MISMATCH", partial(play, joined=lambda lines: "\n".join([*lines, ""]))),
    "no_empty_line": ("SIGNATURE_MISMATCH", lines_but(-3)),
    "list_left_out": ("SIGNATURE_MISMATCH", lines_but(-2)),
    "sorted_without_case": ("SIGNATURE_MISMATCH", partial(play, arrange=sorted_without_case)),
    "lower_case_escapes": (
        "SIGNATURE_MISMATCH",
        partial(play, encode=lambda text: re.sub("%..", lambda escape: escape[0].lower(), strict(text))),
    ),
    "tilde_encoded": ("SIGNATURE_MISMATCH", partial(play, encode=lambda text: strict(text).replace("~", "%7E"))),
    "bytes_as_signing_key": ("SIGNATURE_MISMATCH", partial(play, signing_key=bytes.fromhex)),
    "body_hmac_in_capitals": ("SIGNATURE_MISMATCH", partial(play, body_mac=str.upper)),
    "binding_changed_after_signing": (
        "SIGNATURE_MISMATCH",
        partial(play, send=partial(changed, "X-Binding", lambda binding: "0" * 64)),
    ),
    "binding_in_capitals": ("WRONG_HASH", partial(play, bind=str.upper)),
    "bound_by_bars": ("WRONG_HASH", partial(play, bound=lambda nonce, part, sequence: f"{nonce}|{part}|{sequence}")),
    "proof_of_nothing": ("WRONG_HASH", partial(play, first_proof=lambda token: "")),
    "spaces_kept": ("SIGNATURE_MISMATCH", partial(play, lines=verbatim_lines)),
    "sorted_header_lines": ("SIGNATURE_MISMATCH", partial(play, lines=lambda headers: sorted(header_lines(headers)))),
    "hashed_with_newline": ("SIGNATURE_MISMATCH", partial(play, hashed=lambda body: body + b"\n")),
    "old_secret": ("SIGNATURE_MISMATCH", partial(play, secret_of=first_secret)),
    "old_key": ("SIGNATURE_MISMATCH", partial(play, change=first_key)),
    "text_as_body_key": ("SIGNATURE_MISMATCH", partial(play, body_key=lambda secret, sequence: secret.encode())),
    "bytes_as_body_key": ("SIGNATURE_MISMATCH", partial(play, body_key=lambda secret, sequence: bytes.fromhex(secret))),
    "unsigned_nonce": ("SIGNATURE_MISMATCH", partial(play, send=unsigned_nonce)),
    "bound_without_slice": ("WRONG_HASH", partial(play, bound=lambda nonce, part, sequence: f"{nonce}:{sequence}")),
    "bound_to_first": ("WRONG_HASH", partial(play, bound=lambda nonce, part, sequence: f"{nonce}:{part}:1")),
    "chain_of_signatures": ("WRONG_HASH", partial(play, chained=lambda proof, signature: signature)),
    "stuck_sequence": ("VERSION_CONFLICT", partial(play, change=named("sequence", lambda number: 1))),
    "from_zero": ("VERSION_CONFLICT", partial(play, change=named("sequence", lambda number: number - 1))),
    "params_twice": ("VERSION_CONFLICT", partial(play, takes=2)),
    "ahead": ("WRONG_VALUE", partial(play, change=ahead)),
    "other_method": ("WRONG_VALUE", partial(play, change=other_method)),
    "decoded_and_sent": ("WRONG_VALUE", partial(play, change=named("path", lambda path: path.replace("%20", "+")))),
    "body_with_newline": ("WRONG_VALUE", partial(play, change=named("body", lambda body: body + "\n"))),
    "squeezed_headers": ("WRONG_VALUE", partial(play, send=squeezed)),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "flag_left_out": ("WRONG_VALUE", partial(play, query=lambda pairs: [pair for pair in pairs if pair[1]])),
    "one_more": ("VERSION_CONFLICT", partial(play, after=one_more)),
    "no_discovery": ("MISSING_CONSTRAINT", undiscovered),
    "no_parameters": ("MISSING_CONSTRAINT", unparametrised),
    "elsewhere_first": ("SUCCESS", elsewhere_first),
    "no_signature": ("MISSING_CONSTRAINT", partial(play, send=partial(without, "Authorization"))),
    "no_nonce": ("MISSING_CONSTRAINT", partial(play, send=partial(without, "X-Nonce"))),
    "no_binding": ("MISSING_CONSTRAINT", partial(play, send=partial(without, "X-Binding"))),
    "no_given_header": ("MISSING_CONSTRAINT", partial(play, send=noteless)),
    "bare_signature": ("MISSING_CONSTRAINT", partial(play, send=partial(changed, "Authorization", lambda said: said[-64:]))),
    "no_slice": ("MISSING_CONSTRAINT", partial(play, begin=partial(without, "X-Seed-Anchor"))),
    "no_token": ("MISSING_TOKEN", partial(play, begin=partial(without, "X-Discovery-Token"))),
    "clipped_token": ("MUTATED_TOKEN", partial(play, begin=partial(changed, "X-Discovery-Token", lambda token: token[:32]))),
    "encoded_nonce": ("MUTATED_TOKEN", partial(play, change=named("nonce", lambda nonce: strict(nonce + "=")))),
    "used_nonce": ("EXPIRED_BEFORE_USE", partial(play, change=used_nonce)),
    "late_discovery": ("EXPIRED_BEFORE_USE", partial(play, pause=at(0, 8))),
    "late_first_order": ("EXPIRED_BEFORE_USE", partial(play, pause=at(1, 5))),
    "late_challenge": ("EXPIRED_BEFORE_USE", partial(play, pause=at(3, 4))),
    "late_last_order": ("EXPIRED_BEFORE_USE", partial(play, pause=at(5, 2.5))),
    "hasty": ("EXPIRED_BEFORE_USE", hasty),
    "late_and_unsorted": ("EXPIRED_BEFORE_USE", partial(play, pause=at(1, 5), arrange=as_given)),
    "signature_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, signature: signature)),
    "discovery_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/signing-params", told_at("expires_at"), 0.5)),
    "discovery_in_the_last_instant": ("SUCCESS", held(play, "/api/signing-params", told_at("expires_at"), 0.5, INSTANT)),
    "order_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/submit/.*", told_at("expires_at"), 0.5)),
    "order_in_the_last_instant": ("SUCCESS", held(play, "/api/submit/.*", told_at("expires_at"), 0.5, INSTANT)),
    "challenge_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/verify/.*", told_at("expires_at"), 0.5)),
    "challenge_in_the_last_instant": ("SUCCESS", held(play, "/api/verify/.*", told_at("expires_at"), 0.5, INSTANT)),
    "last_order_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/finalize/.*", told_at("expires_at"), 0.5, turn=2)),
    "last_order_in_the_last_instant": ("SUCCESS", held(play, "/api/finalize/.*", told_at("expires_at"), 0.5, INSTANT, turn=2)),
}

CELLS = {"validity": "late_first_order", "integrity": "unsorted_query", "both": "late_and_unsorted"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""

MUTATED = {"linewrap": "SIGNATURE_MISMATCH", "decode": "SIGNATURE_MISMATCH", "resort": "SUCCESS"}
"""Every byte of the target is signed, but the canonical form sorts the query itself."""
