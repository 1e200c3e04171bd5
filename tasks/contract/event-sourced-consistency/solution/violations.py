"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from collections.abc import Callable
from functools import partial

import httpx
from solve import Client, Events, Habits, Json, Round, Wait, balance_of, chain_of, play, sha256
from timing import INSTANT, held, told_at


def uncorrected(events: Events) -> int:
    """A client that ignores corrections."""
    return balance_of([event for event in events if event["type"] != "correction"])


def overwritten(events: Events) -> int:
    """A client for which the last correction of an entry is the only one."""
    last = {event["of"]: event["seq"] for event in events if event["type"] == "correction"}
    return balance_of([event for event in events if event["type"] != "correction" or last[event["of"]] == event["seq"]])


def always_proved(body: Json, first: Json) -> Json:
    """A client that proves a challenge of nothing where there was none."""
    return {"reconciliation_proof": sha256(""), **body}


def unsigned(events: Events) -> int:
    """A client that adds every delta to the balance, also that of a debit."""
    debits = {event["seq"] for event in events if event["type"] == "debit"}
    turned = [{**event, "delta": -event["delta"]} if "delta" in event and event["of"] in debits else event for event in events]
    return balance_of(turned)


def unvoided(events: Events) -> int:
    """A client that counts voided entries."""
    return balance_of([event for event in events if event["type"] != "void"])


def half_voided(events: Events) -> int:
    """A client that drops a voided entry, and still adds its corrections to the balance."""
    voided = {event["of"] for event in events if event["type"] == "void"}
    return balance_of(events) + sum(event["delta"] for event in events if "delta" in event and event["of"] in voided)


def unless_voided(events: Events) -> Events:
    """The events without voided entries."""
    voided = {event["of"] for event in events if event["type"] == "void"}
    return [event for event in events if event["seq"] not in voided]


def entries(events: Events) -> Events:
    """Credits and debits alone."""
    return [event for event in events if "amount" in event]


def as_first_said(events: Events) -> dict[int, int]:
    """The amounts of entries without what came later."""
    return {event["seq"]: event["amount"] for event in entries(events)}


def stale(name: str, body: Json, first: Json) -> Json:
    """A submission with one field of the first one."""
    return {**body, name: first[name]}


def without(name: str) -> Callable[..., Json]:
    """A request that lacks one header or field."""
    return lambda given, first=None: {field: value for field, value in given.items() if field != name}


def changed(name: str, change: Callable[[str], str]) -> Callable[..., Json]:
    """A request with one header or field changed."""
    return lambda given, first=None: {**given, name: change(given[name])}


def first_token(headers: Json, first: str) -> Json:
    """A client that sends the first page token with every page."""
    return {**headers, "X-Page-Token": first}


def only_subscribe(client: Client) -> None:
    """A client that subscribes again, and takes what it has read for good."""
    client.subscribe()
    before = client.rounds[-2]
    client.now.events, client.now.digests, client.now.last_page = before.events, before.digests, before.last_page


def old_token(client: Client) -> None:
    """A client that reads anew, and goes on with its first stream token."""
    client.begin()
    client.now.given["stream_token"] = client.rounds[0].given["stream_token"]


def first_key(now: Round, first: Round) -> bytes:
    """A client that keeps the key of its first subscription."""
    return bytes.fromhex(first.given["hmac_key"])


def written_again(raw: bytes) -> bytes:
    """A body as another serialiser writes it."""
    return json.dumps(json.loads(raw)).encode()


def unfolded(version: str, digests: list[str]) -> str:
    """All digests hashed at once."""
    return sha256(version + "".join(digests))


def from_nothing(version: str, digests: list[str]) -> str:
    """A chain that does not begin with the version."""
    chain = digests[0]
    for digest in digests[1:]:
        chain = sha256(chain + digest)
    return chain


def flipped(token: str) -> str:
    """A token with its first character changed."""
    return ("a" if token[0] != "a" else "b") + token[1:]


def unsubscribed(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that begins to read without a subscription."""
    api.get("/events?after_seq=0&limit=5").raise_for_status()


def submitted_unread(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that subscribes anew after it has read all, and makes up what the end of the stream would have given."""
    client = Client(api, instruction, wait, Habits(edit=lambda body, first: {**body, "read_token": "0" * 48}))
    client.begin()
    only_subscribe(client)
    client.submit().raise_for_status()


def mistaken_in_a_place(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client whose first page is asked for after what is no number, and then rightly."""
    asked: list[httpx.URL] = []

    def before(request: httpx.Request) -> None:
        if request.url.path == "/events" and not asked:
            asked.append(request.url)
            api.get("/events?after_seq=first", headers=request.headers)

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


def subscribed_after_all(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that begins anew though its balance was accepted."""

    def before(request: httpx.Request) -> None:
        if request.url.path == "/submission":
            Client(api, instruction, wait, Habits()).subscribe()

    api.event_hooks = {"request": [before]}
    play(api, instruction, wait)


def unsigned_debits(events: Events) -> int:
    """A client that adds debits, too."""
    return balance_of([{**event, "type": event["type"].replace("debit", "credit")} for event in events])


def by_lines(events: Events) -> Events:
    """A client that puts each id on a line."""
    return [{**event, "id": f"{event['id']}\n"} for event in events]


VIOLATIONS = {
    "uncorrected": ("WRONG_VALUE", partial(play, balance=uncorrected)),
    "overwritten": ("WRONG_VALUE", partial(play, balance=overwritten)),
    "unsigned_deltas": ("WRONG_VALUE", partial(play, balance=unsigned)),
    "unvoided": ("WRONG_VALUE", partial(play, balance=unvoided)),
    "half_voided": ("WRONG_VALUE", partial(play, balance=half_voided)),
    "counted_without_voided": ("WRONG_VALUE", partial(play, counted=unless_voided)),
    "proved_without_challenge": ("WRONG_VALUE", partial(play, edit=always_proved)),
    "too_large_pages": ("WRONG_VALUE", partial(play, limit=lambda most: most + 1)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "read_token_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, now: now.last_page["read_token"])),
    "balance_of_the_first_round": ("WRONG_VALUE", partial(play, edit=partial(stale, "balance"))),
    "mistaken_in_a_place": ("SUCCESS", mistaken_in_a_place),
    "last_page_twice": ("SUCCESS", partial(play, again=True)),
    "subscribed_after_all": ("VERSION_CONFLICT", subscribed_after_all),
    "submitted_again": ("VERSION_CONFLICT", partial(play, after_conflict=lambda client: None)),
    "read_on_after_conflict": ("VERSION_CONFLICT", partial(play, after_conflict=Client.read)),
    "subscribed_without_reading": ("VERSION_CONFLICT", partial(play, after_conflict=only_subscribe)),
    "stale_read_token": ("VERSION_CONFLICT", partial(play, edit=partial(stale, "read_token"))),
    "stale_version": ("VERSION_CONFLICT", partial(play, edit=partial(stale, "stream_version"))),
    "next_sequence": ("VERSION_CONFLICT", partial(play, edit=changed("expected_sequence", lambda seq: seq + 1))),
    "counted_sequence": ("VERSION_CONFLICT", partial(play, edit=changed("expected_sequence", lambda seq: 20))),
    "counted_places": ("VERSION_CONFLICT", partial(play, place=lambda seq: seq and 5)),
    "first_page_token": ("VERSION_CONFLICT", partial(play, page=first_token)),
    "written_again": ("SIGNATURE_MISMATCH", partial(play, signed=written_again)),
    "signed_with_newline": ("SIGNATURE_MISMATCH", partial(play, signed=lambda raw: raw + b"\n")),
    "hex_text_as_key": ("SIGNATURE_MISMATCH", partial(play, key=lambda now, first: now.given["hmac_key"].encode())),
    "first_key": ("SIGNATURE_MISMATCH", partial(play, key=first_key)),
    "unfolded_chain": ("WRONG_HASH", partial(play, chain=unfolded)),
    "chain_from_nothing": ("WRONG_HASH", partial(play, chain=from_nothing)),
    "proved_without_voided": ("WRONG_HASH", partial(play, proved=unless_voided)),
    "proved_entries": ("WRONG_HASH", partial(play, proved=entries)),
    "amounts_as_first_said": ("WRONG_HASH", partial(play, amounts=as_first_said)),
    "unsubscribed": ("MISSING_CONSTRAINT", unsubscribed),
    "submitted_unread": ("MISSING_CONSTRAINT", submitted_unread),
    "late_without_page_token": (
        "MISSING_CONSTRAINT",
        partial(play, rest=("page 1", 31), page=without("X-Page-Token")),
    ),
    "late_without_signature": (
        "MISSING_CONSTRAINT",
        partial(play, rest=("submission", 31), send=without("X-Submission-HMAC")),
    ),
    "no_page_token": ("MISSING_CONSTRAINT", partial(play, page=without("X-Page-Token"))),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, subscribe=without("anchor"))),
    "no_signature": ("MISSING_CONSTRAINT", partial(play, send=without("X-Submission-HMAC"))),
    "no_counts": ("MISSING_CONSTRAINT", partial(play, edit=without("counts"))),
    "challenge_overlooked": ("MISSING_CONSTRAINT", partial(play, edit=without("reconciliation_proof"))),
    "no_stream_token": ("MISSING_TOKEN", partial(play, page=without("X-Stream-Token"))),
    "no_stream_token_and_wrong_place": (
        "MISSING_TOKEN",
        partial(play, page=without("X-Stream-Token"), place=lambda seq: seq + 1),
    ),
    "clipped_page_token": ("MUTATED_TOKEN", partial(play, page=changed("X-Page-Token", lambda token: token[:24]))),
    "mangled_stream_token": ("MUTATED_TOKEN", partial(play, page=changed("X-Stream-Token", flipped))),
    "mangled_read_token": ("MUTATED_TOKEN", partial(play, edit=changed("read_token", flipped))),
    "late_page": ("EXPIRED_BEFORE_USE", partial(play, rest=("page 3", 31))),
    "late_submission": ("EXPIRED_BEFORE_USE", partial(play, rest=("submission", 31))),
    "small_pages": ("EXPIRED_BEFORE_USE", partial(play, limit=lambda most: None)),
    "read_twice": ("EXPIRED_BEFORE_USE", partial(play, passes=2)),
    "old_stream_token": ("EXPIRED_BEFORE_USE", partial(play, after_conflict=old_token)),
    "late_and_mangled": ("EXPIRED_BEFORE_USE", partial(play, rest=("submission", 31), edit=changed("read_token", flipped))),
    "submission_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/aggregate", told_at("expires_at"), 1)),
    "submission_in_the_last_instant": ("SUCCESS", held(play, "/aggregate", told_at("expires_at"), 1, INSTANT)),
    "added_debits": ("WRONG_VALUE", partial(play, balance=unsigned_debits)),
    "balance_with_a_point": ("WRONG_VALUE", partial(play, edit=changed("balance", float))),
    "empty_pages": ("WRONG_VALUE", partial(play, limit=lambda most: 0)),
    "page_counted_twice": (
        "WRONG_HASH",
        partial(play, chain=lambda version, digests: chain_of(version, [*digests, digests[-1]])),
    ),
    "chain_backwards": ("WRONG_HASH", partial(play, chain=lambda version, digests: chain_of(version, digests[::-1]))),
    "proved_by_lines": ("WRONG_HASH", partial(play, proved=by_lines)),
    "upper_case_chain": ("WRONG_HASH", partial(play, edit=changed("digest_chain", str.upper))),
    "upper_case_signature": ("SIGNATURE_MISMATCH", partial(play, send=changed("X-Submission-HMAC", str.upper))),
    "page_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/events", told_at("expires_at"), 3)),
}

CELLS = {"validity": "late_submission", "integrity": "written_again", "both": "late_and_mangled"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
