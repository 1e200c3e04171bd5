"""Clients that go wrong in one place each, with the label that place must earn."""

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import httpx
from solve import FILE, headers_for, play, read_fragments
from timing import INSTANT, Wait, held, told_at


def resorted(query: str) -> str:
    """Middleware that sorts query parameters."""
    return "&".join(sorted(query.split("&")))


def wrapped(query: str) -> str:
    """A terminal that breaks lines at 76 characters."""
    return "%0A".join(query[start : start + 76] for start in range(0, len(query), 76))


def one_character_lost(query: str) -> str:
    """A slip in the middle of a long copy."""
    return query[: len(query) // 2] + query[len(query) // 2 + 1 :]


def one_digit_turned(query: str) -> str:
    """Two neighbours that differ, the other way round, somewhere past the middle."""
    place = next(at for at in range(len(query) // 2, len(query)) if query[at].isalpha() and query[at + 1].isdigit())
    return query[:place] + query[place + 1] + query[place] + query[place + 2 :]


def without(header: str) -> partial[None]:
    """A client that leaves one header out."""
    return partial(play, headers=lambda nonce, part: {k: v for k, v in headers_for(nonce, part).items() if k != header})


def nonce_sent(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the nonce where it sends it."""
    return partial(play, headers=lambda nonce, part: headers_for(nonce, part) | {"X-Flow-Nonce": change(nonce)})


def anchor_sent(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the slice where it sends it alone, and not in its proof."""
    return partial(play, headers=lambda nonce, part: headers_for(nonce, part) | {"X-URL-Anchor": change(part)})


def proof(text: Callable[[str, str], str]) -> partial[None]:
    """A client that puts the proof together in its own way."""
    return partial(play, headers=lambda nonce, part: headers_for(nonce, part) | {"X-Assembly-Proof": text(nonce, part)})


def by_letter(placed: str, told: str, shown: str) -> str:
    """A client that joins A, B, C and so on."""
    return "".join(sorted(shown))


def to_the_end_of_the_url(spare: float, api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that takes its last step so late that it uses the URL as that ends, or `spare` seconds before."""
    told = re.search(r"works for the first (\S+) virtual", instruction)
    assert told
    last, ends = len(read_fragments(instruction)), float(told[1])
    held(play, f"/api/step/{last}", lambda answers: ends, 20, spare)(api, instruction, wait)


def with_a_note(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that takes the first note for a part of the URL."""
    note = re.search(r"Note:\n\n```\n([^`]+)\n```", instruction)
    assert note
    play(api, instruction, wait, mangle=lambda query: query.replace("&sig=", f"{quote(note[1])}&sig="))


VIOLATIONS = {
    "joined_by_letter": ("MUTATED_TOKEN", partial(play, order=by_letter)),
    "joined_as_shown": ("MUTATED_TOKEN", partial(play, order=lambda placed, told, shown: shown)),
    "joined_as_told": ("MUTATED_TOKEN", partial(play, order=lambda placed, told, shown: told)),
    "last_two_swapped": (
        "MUTATED_TOKEN",
        partial(play, order=lambda placed, told, shown: placed[:-2] + placed[-1] + placed[-2]),
    ),
    "last_one_missing": (
        "MUTATED_TOKEN",
        partial(play, order=lambda placed, told, shown: placed[:-1], anchored=lambda head, joined: joined + head * 99),
    ),
    "newlines_between": ("MUTATED_TOKEN", partial(play, separator="%0A")),
    "spaces_between": ("MUTATED_TOKEN", partial(play, separator="%20")),
    "wrapped": ("MUTATED_TOKEN", partial(play, mangle=wrapped)),
    "clipped": ("MUTATED_TOKEN", partial(play, mangle=lambda query: query[:2000])),
    "one_character_lost": ("MUTATED_TOKEN", partial(play, mangle=one_character_lost)),
    "one_digit_turned": ("MUTATED_TOKEN", partial(play, mangle=one_digit_turned)),
    "decoded": ("MUTATED_TOKEN", partial(play, mangle=lambda query: query.replace("%2F", "/"))),
    "lower_case_escapes": ("MUTATED_TOKEN", partial(play, mangle=lambda query: query.replace("%2F", "%2f"))),
    "clipped_nonce": ("MUTATED_TOKEN", nonce_sent(lambda nonce: nonce[:16])),
    "tail_as_nonce": ("MUTATED_TOKEN", nonce_sent(lambda nonce: nonce[-8:])),
    "resorted": ("SIGNATURE_MISMATCH", partial(play, mangle=resorted)),
    "elided": ("WRONG_VALUE", partial(play, mangle=lambda query: query[:120] + "..." + query[-60:])),
    "anchor_from_0": ("WRONG_VALUE", partial(play, shift=1)),
    "anchor_of_whole_url": ("WRONG_VALUE", partial(play, anchored=lambda head, joined: head + joined)),
    "anchor_from_0_in_the_header_alone": ("WRONG_VALUE", anchor_sent(lambda part: part[1:] + "0")),
    "proof_turned_round": ("WRONG_VALUE", proof(lambda nonce, part: f"{part}:{nonce[-8:]}")),
    "proof_with_head": ("WRONG_VALUE", proof(lambda nonce, part: f"{nonce[:8]}:{part}")),
    "newline_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda content: content + b"\n")),
    "no_steps": ("MISSING_CONSTRAINT", partial(play, steps=lambda last: ())),
    "only_the_last_step": ("MISSING_CONSTRAINT", partial(play, steps=lambda last: (last,))),
    "skipped_step": ("MISSING_CONSTRAINT", partial(play, steps=lambda last: (1, *range(3, last + 1)))),
    "all_but_the_last_step": ("MISSING_CONSTRAINT", partial(play, steps=lambda last: range(1, last))),
    "no_anchor": ("MISSING_CONSTRAINT", without("X-URL-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", without("X-Assembly-Proof")),
    "late_without_anchor": ("MISSING_CONSTRAINT", partial(without("X-URL-Anchor"), linger=(FILE, 61))),
    "late_without_proof": ("MISSING_CONSTRAINT", partial(without("X-Assembly-Proof"), linger=(FILE, 61))),
    "late_without_nonce": ("MISSING_TOKEN", partial(without("X-Flow-Nonce"), linger=(FILE, 61))),
    "no_nonce": ("MISSING_TOKEN", without("X-Flow-Nonce")),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=(FILE, 61))),
    "late_in_many_looks": ("EXPIRED_BEFORE_USE", partial(play, steps=lambda last: (*range(1, last + 1), *[last] * 6))),
    "late_in_reading_thrice": ("EXPIRED_BEFORE_USE", partial(play, steps=lambda last: [*range(1, last + 1)] * 3)),
    "late_url": ("EXPIRED_BEFORE_USE", partial(play, linger=(1, 126))),
    "late_and_newlines": ("EXPIRED_BEFORE_USE", partial(play, linger=(FILE, 61), separator="%0A")),
    "late_and_by_letter": (
        "EXPIRED_BEFORE_USE",
        partial(play, linger=(FILE, 61), order=by_letter),
    ),
    "nonce_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_at("deadline"), 10)),
    "nonce_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_at("deadline"), 10, INSTANT)),
    "url_on_the_dot": ("EXPIRED_BEFORE_USE", partial(to_the_end_of_the_url, 0)),
    "url_in_the_last_instant": ("SUCCESS", partial(to_the_end_of_the_url, INSTANT)),
    "note_in_the_url": ("MUTATED_TOKEN", with_a_note),
}

CELLS = {"validity": "late", "integrity": "newlines_between", "both": "late_and_newlines"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
