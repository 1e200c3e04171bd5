"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from functools import partial
from urllib.parse import quote

import httpx
from solve import Wait, announced, evenly, play
from timing import INSTANT, Client, held, told_at


def never(answer: httpx.Response) -> float:
    """A client that does not look at the quota."""
    return 0


def overcautious(answer: httpx.Response) -> float:
    """A client that waits 15 s more than it is told, to be safe: the cursor does not live that long."""
    seconds = announced(answer)
    return seconds + 15 if seconds else 0


def by_the_quota(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that plans with the quota as the bootstrap tells it, evenly, so much too fast, and reads no header of a page."""
    quota: dict[str, int] = {}

    def note(answer: httpx.Response) -> None:
        answer.read()
        quota.update(answer.json().get("quota", {}))

    api.event_hooks = {"response": [note]}
    play(api, instruction, wait, pace=lambda answer: evenly(quota) - spare, patience=lambda attempt, told: None)


def once_after(share: float, attempt: int, told: float) -> float | None:
    """A client that tries once more after this share of the time that it is told, and gives up."""
    return None if attempt else share * told


def spaced(cursor: str) -> str:
    """A client that form-decodes the cursor: + becomes a space."""
    return cursor.replace("+", " ")


def urlsafe(cursor: str) -> str:
    """A client that writes the cursor in the other base64 alphabet."""
    return cursor.replace("+", "-").replace("/", "_")


def after_the_wait(spare: float) -> Client:
    """A client that asks for the fifth page, on every seed one of the second window, as late as its cursor lets it."""
    return held(play, "/api/data", told_at("next_cursor_expires_at"), 1, spare, turn=5)


def astray(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for a page which has no number, before it starts."""
    api.get("/api/data?page=first")
    play(api, instruction, wait)


VIOLATIONS = {
    "by_the_quota": ("SUCCESS", partial(by_the_quota, 0)),
    "an_instant_too_fast": ("RATE_LIMITED", partial(by_the_quota, INSTANT)),
    "hammer": ("RATE_LIMITED", partial(play, pace=never, patience=lambda attempt, told: None)),
    "early_retry": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=partial(once_after, 0.5))),
    "retried_an_instant_early": (
        "BACKOFF_VIOLATION",
        partial(play, pace=never, patience=lambda attempt, told: None if attempt else told - 1 - INSTANT),
    ),
    "immediate_retry": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=partial(once_after, 0))),
    "late_cursor": ("EXPIRED_BEFORE_USE", partial(play, linger=(1, 95))),
    "late_initial_cursor": ("EXPIRED_BEFORE_USE", partial(play, linger=(0, 95))),
    "overcautious": ("EXPIRED_BEFORE_USE", partial(play, pace=overcautious)),
    "skipped_page": ("VERSION_CONFLICT", partial(play, pages=lambda total: [0, *range(2, total)])),
    "repeated_page": ("VERSION_CONFLICT", partial(play, pages=lambda total: [0, 0, *range(1, total)])),
    "past_the_end": ("VERSION_CONFLICT", partial(play, pages=lambda total: list(range(total + 1)))),
    "second_bootstrap": ("VERSION_CONFLICT", partial(play, opens=2)),
    "no_bootstrap": ("MISSING_CONSTRAINT", partial(play, opens=0)),
    "spaced_cursor": ("MUTATED_TOKEN", partial(play, mangle=spaced)),
    "encoded_cursor": ("MUTATED_TOKEN", partial(play, mangle=lambda cursor: quote(cursor, safe=""))),
    "urlsafe_cursor": ("MUTATED_TOKEN", partial(play, mangle=urlsafe)),
    "unpadded_cursor": ("MUTATED_TOKEN", partial(play, mangle=lambda cursor: cursor.rstrip("="))),
    "stale_cursor": ("MUTATED_TOKEN", partial(play, stale=True)),
    "visible_cursor": ("WRONG_VALUE", partial(play, mangle=lambda cursor: cursor[:12] + "...")),
    "late_and_spaced": ("EXPIRED_BEFORE_USE", partial(play, linger=(0, 95), mangle=spaced)),
    "first_slice_again": ("WRONG_VALUE", partial(play, slice_of=lambda page: 0)),
    "shifted_slice": ("WRONG_VALUE", partial(play, slice_of=lambda page: 24 * page + 1)),
    "no_cursor": ("MISSING_TOKEN", partial(play, without="X-Page-Cursor")),
    "no_slice": ("MISSING_CONSTRAINT", partial(play, without="X-Seed-Anchor")),
    "json_record": ("WRONG_VALUE", partial(play, hand_in=json.dumps)),
    "first_page_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/data", told_at("expires_at"), 1)),
    "first_page_in_the_last_instant": ("SUCCESS", held(play, "/api/data", told_at("expires_at"), 1, INSTANT)),
    "page_after_the_wait_on_the_dot": ("EXPIRED_BEFORE_USE", after_the_wait(0)),
    "page_after_the_wait_in_the_last_instant": ("SUCCESS", after_the_wait(INSTANT)),
    "astray_at_first": ("SUCCESS", astray),
}

CELLS = {"validity": "late_initial_cursor", "integrity": "spaced_cursor", "both": "late_and_spaced"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
