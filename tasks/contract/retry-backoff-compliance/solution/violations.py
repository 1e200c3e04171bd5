"""Clients that go wrong in one place each, with the label that place must earn."""

import re
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
from solve import Wait, announced, exactly, play
from timing import INSTANT, Client


def paced(change: Any) -> Any:
    """A client that waits by some rule of its own; `change` gets what it was told and which attempt it was."""
    return partial(play, pace=lambda told, cost, attempt: change(told, attempt))


def other_item(number: int) -> str:
    """A client that begins the next item while it waits for this one."""
    return f"/api/data/{2 if number == 1 else 1}"


def rounds(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for one item after the other, and each time waits as long as the last answer told."""
    count, cost = announced(instruction)
    tokens: dict[int, str] = {}
    for _ in range(5):
        for number in range(1, count + 1):
            shown = {"X-Retry-Token": tokens[number]} if number in tokens else None
            answer = api.get(f"/api/data/{number}", headers=shown)
            tokens[number] = answer.json()["retry_token"]
            wait(exactly(float(answer.headers["Retry-After"]), cost, 0))


def to_the_end(spare: float) -> Client:
    """A client that comes with its first token of each item so many seconds before the place is given up."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        (hold,) = re.findall(r"your place for (\d+) seconds", " ".join(instruction.split()))

        def pace(told: float, cost: float, attempt: int) -> float:
            return told - cost + (float(hold) - spare if attempt == 0 else 0)

        play(api, instruction, wait, pace=pace)

    return client


def numbers_checked(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for an item which is not there, and goes on as long as each answer names the item it asked for."""
    api.get("/api/data/0")

    def check(answer: httpx.Response) -> None:
        answer.read()
        if (number := answer.request.url.path.removeprefix("/api/data/")).isdigit() and answer.json()["item"] != int(number):
            raise LookupError(number)

    api.event_hooks = {"request": [], "response": [check]}
    play(api, instruction, wait)


VIOLATIONS = {
    "retried_at_once": ("BACKOFF_VIOLATION", paced(lambda told, attempt: 0)),
    "waited_half": ("BACKOFF_VIOLATION", paced(lambda told, attempt: told / 2)),
    "fixed_wait": ("BACKOFF_VIOLATION", paced(lambda told, attempt: 3)),
    "own_exponential": ("BACKOFF_VIOLATION", paced(lambda told, attempt: 2 ** (attempt + 1))),
    "own_exponential_from_1": ("BACKOFF_VIOLATION", paced(lambda told, attempt: 2**attempt)),
    "just_too_early": ("BACKOFF_VIOLATION", paced(lambda told, attempt: told - 1.001)),
    "impatient_at_the_end": ("BACKOFF_VIOLATION", paced(lambda told, attempt: told - 1 if told < 20 else 15)),
    "errand_meanwhile": ("BACKOFF_VIOLATION", partial(play, errand=other_item)),
    "checked_meanwhile": ("BACKOFF_VIOLATION", partial(play, errand=lambda number: f"/api/data/{number}")),
    "other_item_just_before": (
        "BACKOFF_VIOLATION",
        partial(play, pace=lambda told, cost, attempt: told - 2 * cost, detour=other_item),
    ),
    "other_item_in_time": (
        "BACKOFF_VIOLATION",
        partial(play, pace=lambda told, cost, attempt: told - cost, detour=other_item),
    ),
    "last_item_first": ("SUCCESS", partial(play, order=reversed)),
    "rounds": ("BACKOFF_VIOLATION", rounds),
    "waited_twice": ("EXPIRED_BEFORE_USE", paced(lambda told, attempt: told * 2)),
    "five_seconds_to_be_safe": ("EXPIRED_BEFORE_USE", paced(lambda told, attempt: told + 5)),
    "just_too_late": ("EXPIRED_BEFORE_USE", paced(lambda told, attempt: told + 3)),
    "as_the_place_is_given_up": ("EXPIRED_BEFORE_USE", to_the_end(0)),
    "in_the_last_instant": ("SUCCESS", to_the_end(INSTANT)),
    "numbers_checked": ("SUCCESS", numbers_checked),
    "late_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(play, pace=lambda told, cost, attempt: told + 5, show=lambda token, tokens: token[:16]),
    ),
    "no_token": ("MISSING_TOKEN", partial(play, show=lambda token, tokens: None)),
    "first_token_again": ("MUTATED_TOKEN", partial(play, show=lambda token, tokens: tokens[0])),
    "clipped_token": ("MUTATED_TOKEN", partial(play, show=lambda token, tokens: token[:16])),
    "encoded_token": ("MUTATED_TOKEN", partial(play, show=lambda token, tokens: quote(token, safe=""))),
    "visible_token": ("WRONG_VALUE", partial(play, show=lambda token, tokens: token[:12] + "...")),
    "one_item_short": ("MISSING_CONSTRAINT", partial(play, edit=lambda items: items[:-1])),
    "one_item_unasked": ("MISSING_CONSTRAINT", partial(play, left_out=1, edit=lambda items: [*items, items[0]])),
    "no_items": ("MISSING_CONSTRAINT", partial(play, edit=lambda items: None)),
    "no_slice": ("MISSING_CONSTRAINT", partial(play, without="X-Seed-Anchor")),
    "altered_item": ("WRONG_VALUE", partial(play, edit=lambda items: [items[0].upper() + "0", *items[1:]])),
    "items_as_objects": ("WRONG_VALUE", partial(play, edit=lambda items: [{"data": item} for item in items])),
    "items_backwards": ("WRONG_VALUE", partial(play, edit=lambda items: items[::-1])),
    "shifted_slice": ("WRONG_VALUE", partial(play, shift=1)),
    "items_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda receipt, items: "".join(items))),
}

CELLS = {"validity": "just_too_late", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
