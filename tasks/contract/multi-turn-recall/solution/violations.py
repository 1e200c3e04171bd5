"""Clients that go wrong in one place each, with the label that place must earn."""

from functools import partial
from urllib.parse import unquote

from solve import STEPS, play
from timing import INSTANT, Client, held, told_at


def clipped(length: int) -> partial[None]:
    """A tool whose input ends after so many characters."""
    return partial(play, mangle=lambda target: target[:length])


def one_changed(target: str) -> str:
    """A slip in the middle of a long copy: the case of one letter."""
    place = next(at for at in range(len(target) // 2, len(target)) if target[at] in "GHIJKLMNOPQRSTUVWXYZ")
    return target[:place] + target[place].lower() + target[place + 1 :]


def one_lost(target: str) -> str:
    """A slip in the middle of a long copy: one character left out."""
    return target[: len(target) // 2] + target[len(target) // 2 + 1 :]


def a_stretch_lost(target: str) -> str:
    """A slip over two alike places: what stands between them left out."""
    return target[: len(target) // 2] + target[len(target) // 2 + 40 :]


def wrapped(target: str) -> str:
    """A terminal that breaks lines at 76 characters."""
    return target[:76] + "%0A" + target[76:]


def resorted(target: str) -> str:
    """Middleware that sorts query parameters."""
    path, _, query = target.partition("?")
    return path + "?" + "&".join(sorted(query.split("&")))


def query_of(target: str) -> str:
    """What stands after the question mark."""
    return target.partition("?")[2]


def to_the_end_of_the_url(spare: float) -> Client:
    """A client that gets a second token so late that it uses the URL as that ends, or `spare` seconds before."""
    again = partial(play, steps=(*STEPS, "preflight"))
    return held(again, "/api/preflight", told_at("download_deadline"), 10, spare, turn=2)


VIOLATIONS = {
    "clipped_at_8000": ("MUTATED_TOKEN", clipped(8000)),
    "clipped_at_4096": ("MUTATED_TOKEN", clipped(4096)),
    "clipped_at_1000": ("MUTATED_TOKEN", clipped(1000)),
    "one_character_changed": ("MUTATED_TOKEN", partial(play, mangle=one_changed)),
    "one_character_lost": ("MUTATED_TOKEN", partial(play, mangle=one_lost)),
    "a_stretch_lost": ("MUTATED_TOKEN", partial(play, mangle=a_stretch_lost)),
    "wrapped": ("MUTATED_TOKEN", partial(play, mangle=wrapped)),
    "decoded": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("%2F", "/"))),
    "fully_decoded": ("MUTATED_TOKEN", partial(play, mangle=unquote)),
    "lower_case_escapes": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("%2F", "%2f"))),
    "encoded_twice": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("%", "%25"))),
    "clipped_token": ("MUTATED_TOKEN", partial(play, token_of=lambda tokens: tokens[-1][:32])),
    "lowered_token": ("MUTATED_TOKEN", partial(play, token_of=lambda tokens: tokens[-1].lower())),
    "resorted": ("SIGNATURE_MISMATCH", partial(play, mangle=resorted)),
    "elided": ("WRONG_VALUE", partial(play, mangle=lambda target: target[:200] + "..." + target[-60:])),
    "anchor_from_0": ("WRONG_VALUE", partial(play, shift=1)),
    "anchor_shifted": ("WRONG_VALUE", partial(play, shift=-1)),
    "anchor_of_the_query": ("WRONG_VALUE", partial(play, counted=query_of)),
    "anchor_of_the_whole_url": ("WRONG_VALUE", partial(play, counted=lambda target: "http://api:8080" + target)),
    "newline_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda content: content + b"\n")),
    "straight_to_the_url": ("MISSING_CONSTRAINT", partial(play, steps=())),
    "no_session": ("MISSING_CONSTRAINT", partial(play, steps=STEPS[1:])),
    "catalog_before_the_session": ("MISSING_CONSTRAINT", partial(play, steps=("catalog", *STEPS))),
    "no_catalog": ("MISSING_CONSTRAINT", partial(play, steps=("session", "preflight"))),
    "no_preflight": ("MISSING_CONSTRAINT", partial(play, steps=STEPS[:2])),
    "late_without_anchor": ("MISSING_CONSTRAINT", partial(play, steps=(*STEPS, 45), without="X-URL-Anchor")),
    "late_without_token": ("MISSING_TOKEN", partial(play, steps=(*STEPS, 45), without="X-Flow-Token")),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, without="X-URL-Anchor")),
    "no_token": ("MISSING_TOKEN", partial(play, without="X-Flow-Token")),
    "late": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS, 45))),
    "late_for_the_token": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS, 20))),
    "late_for_the_token_in_four_looks": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS, *("catalog",) * 4))),
    "late_for_the_url": ("EXPIRED_BEFORE_USE", partial(play, steps=("session", 30, *STEPS[1:]))),
    "started_over_twice": ("EXPIRED_BEFORE_USE", partial(play, steps=STEPS * 3)),
    "late_in_spite_of_a_new_token": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS, 25, "session", "preflight"))),
    "replaced_token": (
        "EXPIRED_BEFORE_USE",
        partial(play, steps=(*STEPS, "preflight"), token_of=lambda tokens: tokens[0]),
    ),
    "late_and_changed": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS, 45), mangle=one_changed)),
    "late_for_the_token_and_clipped": (
        "EXPIRED_BEFORE_USE",
        partial(play, steps=(*STEPS, 20), mangle=lambda target: target[:4096]),
    ),
    "url_on_the_dot": ("EXPIRED_BEFORE_USE", to_the_end_of_the_url(0)),
    "url_in_the_last_instant": ("SUCCESS", to_the_end_of_the_url(INSTANT)),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_at("flow_token_expires_at"), 5)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_at("flow_token_expires_at"), 5, INSTANT)),
}

CELLS = {"validity": "late_for_the_token", "integrity": "one_character_changed", "both": "late_and_changed"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
