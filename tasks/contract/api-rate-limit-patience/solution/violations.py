"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from functools import partial
from urllib.parse import quote

import httpx
from solve import announced, play


def never(answer: httpx.Response) -> float:
    """A client that does not look at the quota."""
    return 0


def overcautious(answer: httpx.Response) -> float:
    """A client that waits 15 s more than it is told, to be safe: the cursor does not live that long."""
    seconds = announced(answer)
    return seconds + 15 if seconds else 0


def half_first(attempt: int, told: float) -> float:
    """A client that tries once when half of the time has passed."""
    return told // 2 if attempt == 0 else told


def spaced(cursor: str) -> str:
    """A client that form-decodes the cursor: + becomes a space."""
    return cursor.replace("+", " ")


def urlsafe(cursor: str) -> str:
    """A client that writes the cursor in the other base64 alphabet."""
    return cursor.replace("+", "-").replace("/", "_")


VIOLATIONS = {
    "hammer": ("RATE_LIMITED", partial(play, pace=never)),
    "hammer_and_give_up": ("RATE_LIMITED", partial(play, pace=never, patience=lambda attempt, told: None)),
    "early_retry": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=half_first)),
    "immediate_retry": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=lambda n, told: told if n else 0)),
    "fixed_backoff": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=lambda attempt, told: 10)),
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
}

CELLS = {"validity": "late_initial_cursor", "integrity": "spaced_cursor", "both": "late_and_spaced"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
