"""Clients that go wrong in one place each, with the label that place must earn."""

import html
import re
from functools import partial

from solve import Headers, href, play, raw_href
from timing import INSTANT, Answers, dated, held, told_at


def visible_text(page: str) -> str:
    """A client that copies the text of the link."""
    return html.unescape(re.findall(r'id="download(?:-[1-9])?"[^>]*>([^<]*)<', page)[0])


def without_dots(page: str) -> str:
    """A client that copies the text of the link and leaves the dots out."""
    return visible_text(page).removesuffix("...")


def with_one_character(page: str) -> str:
    """A client whose copy has the dots as one character."""
    return visible_text(page).replace("...", "\u2026")


def whole_looking(page: str) -> str:
    """A client that takes the address that stands in the text, because it is whole."""
    return html.unescape(re.findall(r"<code>([^<]*)</code>", page)[0])


def first_listed(page: str) -> str:
    """A client that takes the first link of the page; where there is no other, the address in the text."""
    return href(page) if page.count("<h1>") > 1 else whole_looking(page)


def decoded(page: str) -> str:
    """A client that percent-decodes the slashes of the query before it sends it."""
    return href(page).replace("%2F", "/")


def escaped_twice(page: str) -> str:
    """A client that percent-encodes what is encoded already."""
    return href(page).replace("%", "%25")


def resorted(page: str) -> str:
    """Middleware that sorts query parameters by name."""
    path, _, query = href(page).partition("?")
    return path + "?" + "&".join(sorted(query.split("&")))


def without(name: str, headers: Headers) -> Headers:
    """A client that forgets one header."""
    return {key: value for key, value in headers.items() if key != name}


def dated_first(answers: Answers) -> float:
    """The virtual second at which the link ends, as the first look at the page tells it."""
    first = next(place for place, answer in enumerate(answers, 1) if answer.request.url.path == "/task")
    return dated(answers[:first])


VIOLATIONS = {
    "visible_text": ("WRONG_VALUE", partial(play, pick=visible_text)),
    "visible_text_one_character": ("WRONG_VALUE", partial(play, pick=with_one_character)),
    # in the turn of level 2 (each third client), where the page has two files
    "first_listed": ("WRONG_VALUE", partial(play, where=lambda page, name: page, pick=first_listed)),
    "whole_looking_address": ("WRONG_VALUE", partial(play, pick=whole_looking)),
    "visible_text_without_dots": ("MUTATED_TOKEN", partial(play, pick=without_dots)),
    "still_escaped": ("MUTATED_TOKEN", partial(play, pick=raw_href)),
    "decoded_link": ("MUTATED_TOKEN", partial(play, pick=decoded)),
    "twice_encoded_link": ("MUTATED_TOKEN", partial(play, pick=escaped_twice)),
    "resorted_link": ("SIGNATURE_MISMATCH", partial(play, pick=resorted)),
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, precheck=False)),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "X-Seed-Anchor"))),
    "no_proof": ("MISSING_CONSTRAINT", partial(play, edit=partial(without, "X-Contract-Proof"))),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda left: 101)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda left: left - 2)),
    "late_link": ("EXPIRED_BEFORE_USE", partial(play, dawdle=221)),
    "late_and_escaped": ("EXPIRED_BEFORE_USE", partial(play, linger=lambda left: 101, pick=raw_href)),
    "late_and_visible": ("EXPIRED_BEFORE_USE", partial(play, dawdle=221, pick=visible_text)),
    "stale_proof": ("WRONG_VALUE", partial(play, again=True)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "bare_proof": ("WRONG_VALUE", partial(play, edit=lambda h: {**h, "X-Contract-Proof": h["X-Contract-Proof"][-8:]})),
    "newline_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda file: file + "\n")),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_at("deadline"), 2)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_at("deadline"), 2, INSTANT)),
    "first_sight_used": ("SUCCESS", partial(play, looks=2, seen=0)),
    "link_on_the_dot_after_two_looks": ("EXPIRED_BEFORE_USE", held(partial(play, looks=2), "/api/precheck", dated_first, 4)),
    "link_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/precheck", dated, 4)),
    "link_in_the_last_instant": ("SUCCESS", held(play, "/api/precheck", dated, 4, INSTANT)),
}

CELLS = {"validity": "late_token", "integrity": "still_escaped", "both": "late_and_escaped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
