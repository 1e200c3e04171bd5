"""Clients that go wrong in one place each, with the label that place must earn."""

from collections.abc import Callable
from functools import partial

from solve import headers_for, play


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


def proof(text: Callable[[str, str], str]) -> partial[None]:
    """A client that puts the proof together in its own way."""
    return partial(play, headers=lambda nonce, part: headers_for(nonce, part) | {"X-Assembly-Proof": text(nonce, part)})


VIOLATIONS = {
    "joined_by_letter": ("MUTATED_TOKEN", partial(play, order=lambda placed, told, shown: "ABCD")),
    "joined_as_shown": ("MUTATED_TOKEN", partial(play, order=lambda placed, told, shown: shown)),
    "joined_as_told": ("MUTATED_TOKEN", partial(play, order=lambda placed, told, shown: told)),
    "last_two_swapped": (
        "MUTATED_TOKEN",
        partial(play, order=lambda placed, told, shown: placed[:2] + placed[3] + placed[2]),
    ),
    "last_one_missing": (
        "MUTATED_TOKEN",
        partial(play, order=lambda placed, told, shown: placed[:3], anchored=lambda head, joined: joined + head * 99),
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
    "proof_turned_round": ("WRONG_VALUE", proof(lambda nonce, part: f"{part}:{nonce[-8:]}")),
    "proof_with_head": ("WRONG_VALUE", proof(lambda nonce, part: f"{nonce[:8]}:{part}")),
    "newline_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda content: content + b"\n")),
    "no_steps": ("MISSING_CONSTRAINT", partial(play, steps=())),
    "only_the_last_step": ("MISSING_CONSTRAINT", partial(play, steps=(4,))),
    "skipped_step": ("MISSING_CONSTRAINT", partial(play, steps=(1, 3, 4))),
    "three_steps": ("MISSING_CONSTRAINT", partial(play, steps=(1, 2, 3))),
    "no_anchor": ("MISSING_CONSTRAINT", without("X-URL-Anchor")),
    "no_proof": ("MISSING_CONSTRAINT", without("X-Assembly-Proof")),
    "no_nonce": ("MISSING_TOKEN", without("X-Flow-Nonce")),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=(5, 61))),
    "late_in_many_looks": ("EXPIRED_BEFORE_USE", partial(play, steps=(1, 2, 3, 4) + (4,) * 6)),
    "late_in_reading_thrice": ("EXPIRED_BEFORE_USE", partial(play, steps=(1, 2, 3, 4) * 3)),
    "late_url": ("EXPIRED_BEFORE_USE", partial(play, linger=(1, 126))),
    "late_and_newlines": ("EXPIRED_BEFORE_USE", partial(play, linger=(5, 61), separator="%0A")),
    "late_and_by_letter": ("EXPIRED_BEFORE_USE", partial(play, linger=(5, 61), order=lambda placed, told, shown: "ABCD")),
}

CELLS = {"validity": "late", "integrity": "newlines_between", "both": "late_and_newlines"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
