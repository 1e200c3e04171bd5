"""Clients that go wrong in one place each, with the label that place must earn."""

import re
import unicodedata
from functools import partial
from typing import Any
from urllib.parse import unquote, unquote_plus

import httpx
from solve import Pages, Wait, all_items, announced, encoded, page_seconds, play
from timing import INSTANT, answered_at, held, told_at


def raw(cursor: str) -> str:
    """A client that pastes the cursor into the URL."""
    return cursor


def urlsafe(cursor: str) -> str:
    """A client that writes the cursor in the other base64 alphabet, which needs no escapes."""
    return encoded(cursor.replace("+", "-").replace("/", "_"))


def by_the_docs(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that plans with the quota as the docs tell it, but for so much, and reads no header of a page."""
    quota: list[int] = []
    times: list[float] = []

    def note(answer: httpx.Response) -> None:
        answer.read()
        if told := re.search(r"At most (\d+) requests to /api/page in any (\d+) seconds", answer.text):
            quota[:] = int(told[1]), int(told[2])

    def pace(answer: httpx.Response, cost: float) -> float:
        times.append(answered_at(answer))
        most, window = quota
        return max(0, times[-most] + window - cost - spare - times[-1]) if len(times) >= most else 0

    api.event_hooks = {"response": [note]}
    play(api, instruction, wait, pace=pace, patience=lambda attempt, told: None)


def overcautious(answer: httpx.Response, cost: float) -> float:
    """A client that waits 10 s more than it is told, to be safe: the cursor does not live that long."""
    seconds = announced(answer, cost)
    return seconds + 10 if seconds else 0


def never(answer: httpx.Response, cost: float) -> float:
    """A client that does not look at the quota."""
    return 0


def once_after(seconds: float, attempt: int, told: float) -> float | None:
    """A client that tries once more after this wait, whatever it is told, and gives up."""
    return None if attempt else seconds


def second_page(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client whose second page is judged so long before its cursor ends."""
    held(play, "/api/page", told_at("cursor_expires_at"), page_seconds(instruction), spare, turn=2)(api, instruction, wait)


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
    "by_the_docs": ("SUCCESS", partial(by_the_docs, 0)),
    "an_instant_too_fast": ("RATE_LIMITED", partial(by_the_docs, INSTANT)),
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
    "overcautious": ("EXPIRED_BEFORE_USE", partial(play, pace=overcautious)),
    "late_and_raw": ("EXPIRED_BEFORE_USE", partial(play, linger=25, encode=raw)),
    "hammer": ("RATE_LIMITED", partial(play, pace=never, patience=lambda attempt, told: None)),
    "immediate_retry": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=partial(once_after, 0))),
    "early_retry": ("BACKOFF_VIOLATION", partial(play, pace=never, patience=partial(once_after, 1))),
    "stripped_items": ("WRONG_VALUE", partial(play, collect=each(str.strip))),
    "squeezed_items": ("WRONG_VALUE", partial(play, collect=each(lambda item: re.sub(" +", " ", item)))),
    "normalised_items": ("WRONG_VALUE", partial(play, collect=each(partial(unicodedata.normalize, "NFC")))),
    "distinct_items": ("WRONG_VALUE", partial(play, collect=lambda pages: list(dict.fromkeys(all_items(pages))))),
    "sorted_items": ("WRONG_VALUE", partial(play, collect=lambda pages: sorted(all_items(pages)))),
    "joined_items": ("WRONG_VALUE", partial(play, collect=lambda pages: "".join(all_items(pages)))),
    "pages_unflattened": ("WRONG_VALUE", partial(play, collect=lambda pages: pages)),
    "skipped_page": ("WRONG_VALUE", partial(play, collect=skipping)),
    "stopped_early": ("WRONG_VALUE", partial(play, most=3)),
    "nothing_collected": ("MISSING_CONSTRAINT", partial(play, collect=lambda pages: [])),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "anchor"))),
    "no_items": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "collected"))),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "whole_answer": ("WRONG_VALUE", partial(play, hand_in=lambda answer: answer.text)),
    "echoed_receipt": ("WRONG_VALUE", partial(play, hand_in=lambda answer: answer.json()["receipt"] + "\n")),
    "cursor_on_the_dot": ("EXPIRED_BEFORE_USE", partial(second_page, 0)),
    "cursor_in_the_last_instant": ("SUCCESS", partial(second_page, INSTANT)),
}

CELLS = {"validity": "late_cursor", "integrity": "raw_plus", "both": "late_and_raw"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
