"""Clients that go wrong in one place each, with the label that place must earn."""

import re
import unicodedata
from functools import partial
from typing import Any
from urllib.parse import unquote, unquote_plus

import httpx
from solve import Pages, all_items, announced, encoded, play


def raw(cursor: str) -> str:
    """A client that pastes the cursor into the URL."""
    return cursor


def urlsafe(cursor: str) -> str:
    """A client that writes the cursor in the other base64 alphabet, which needs no escapes."""
    return encoded(cursor.replace("+", "-").replace("/", "_"))


def overcautious(answer: httpx.Response) -> float:
    """A client that waits 10 s more than it is told, to be safe: the cursor does not live that long."""
    seconds = announced(answer)
    return seconds + 10 if seconds else 0


def early_first(attempt: int, told: float) -> float:
    """A client that tries once after 3 s, whatever it is told."""
    return told if attempt else 3


def each(change: Any) -> Any:
    """The same change to every item."""
    return lambda pages: [change(item) for item in all_items(pages)]


def without(field: str, final: dict[str, Any]) -> dict[str, Any]:
    """A verification that lacks one field."""
    return {name: value for name, value in final.items() if name != field}


def skipping(pages: Pages) -> list[str]:
    """A client that starts with the page its first cursor led to."""
    return all_items(pages[1:])


VIOLATIONS = {
    "raw_plus": ("MUTATED_TOKEN", partial(play, encode=raw)),
    "only_plus_escaped": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: cursor.replace("+", "%2B"))),
    "urlsafe_cursor": ("MUTATED_TOKEN", partial(play, encode=urlsafe)),
    "decoded_cursor": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: encoded(unquote(cursor)))),
    "form_decoded_cursor": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: encoded(unquote_plus(cursor)))),
    "twice_encoded_cursor": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: encoded(encoded(cursor)))),
    "clipped_cursor": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: encoded(cursor[:128]))),
    "wrapped_cursor": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: encoded(cursor[:76] + "\n" + cursor[76:]))),
    "echoed_cursor": ("MUTATED_TOKEN", partial(play, encode=lambda cursor: encoded(cursor + "\n"))),
    "visible_cursor": ("WRONG_VALUE", partial(play, encode=lambda cursor: encoded(cursor[:16] + "..."))),
    "empty_cursor": ("MISSING_TOKEN", partial(play, encode=lambda cursor: "")),
    "late_cursor": ("EXPIRED_BEFORE_USE", partial(play, linger=25)),
    "cursor_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=17)),
    "overcautious": ("EXPIRED_BEFORE_USE", partial(play, pace=overcautious)),
    "late_and_raw": ("EXPIRED_BEFORE_USE", partial(play, linger=25, encode=raw)),
    "hammer": ("RATE_LIMITED", partial(play, pace=lambda answer: 0)),
    "hammer_and_give_up": ("RATE_LIMITED", partial(play, pace=lambda answer: 0, patience=lambda attempt, told: None)),
    "immediate_retry": ("BACKOFF_VIOLATION", partial(play, pace=lambda answer: 0, patience=lambda n, told: told if n else 0)),
    "early_retry": ("BACKOFF_VIOLATION", partial(play, pace=lambda answer: 0, patience=early_first)),
    "stripped_items": ("WRONG_VALUE", partial(play, collect=each(str.strip))),
    "squeezed_items": ("WRONG_VALUE", partial(play, collect=each(lambda item: re.sub(" +", " ", item)))),
    "normalised_items": ("WRONG_VALUE", partial(play, collect=each(partial(unicodedata.normalize, "NFC")))),
    "distinct_items": ("WRONG_VALUE", partial(play, collect=lambda pages: list(dict.fromkeys(all_items(pages))))),
    "sorted_items": ("WRONG_VALUE", partial(play, collect=lambda pages: sorted(all_items(pages)))),
    "joined_items": ("WRONG_VALUE", partial(play, collect=lambda pages: "".join(all_items(pages)))),
    "pages_unflattened": ("WRONG_VALUE", partial(play, collect=lambda pages: pages)),
    "skipped_page": ("WRONG_VALUE", partial(play, collect=skipping)),
    "stopped_early": ("WRONG_VALUE", partial(play, most=3)),
    "nothing_collected": ("WRONG_VALUE", partial(play, collect=lambda pages: [])),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "no_items": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "collected"))),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "whole_answer": ("WRONG_VALUE", partial(play, hand_in=lambda answer: answer.text)),
    "echoed_receipt": ("WRONG_VALUE", partial(play, hand_in=lambda answer: answer.json()["receipt"] + "\n")),
}

CELLS = {"validity": "late_cursor", "integrity": "raw_plus", "both": "late_and_raw"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
