"""Clients that go wrong in one place each, with the label that place must earn."""

import json
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from solve import STEPS, Got, newest_form_token, newest_unlock_token, play
from timing import INSTANT, Client, held, told_at, told_within


def raw(fields: dict[str, str]) -> str:
    """A form put together by hand, as `curl -d` sends it: its + means a space."""
    return "&".join(f"{name}={value}" for name, value in fields.items())


def form_token(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the form token before it encodes the form."""
    return partial(play, form_token=lambda got: change(newest_form_token(got)))


def unlock_token(change: Callable[[str], str]) -> partial[None]:
    """A client that alters the unlock token."""
    return partial(play, unlock_token=lambda got: change(newest_unlock_token(got)))


def first_form_token(got: Got) -> str:
    """The form token of the page loaded first."""
    token: str = got["page"][0][0]
    return token


def first_unlock_token(got: Got) -> str:
    """The unlock token of the first unlock."""
    token: str = got["unlock"][0]["unlock_token"]
    return token


def reversed_query(target: str) -> str:
    """Middleware that sorts query parameters from last to first."""
    path, _, query = target.partition("?")
    return path + "?" + "&".join(sorted(query.split("&"), reverse=True))


mended = partial(play, steps=(*STEPS[:3], "precheck", "download"), renews=False)


def with_an_old_unlock(spare: float) -> Client:
    """A client that mends the window with a second precheck, so that the unlock token alone may be over."""
    return held(mended, "/api/precheck", told_at("expires_at"), 30, spare, turn=2)


VIOLATIONS = {
    "no_unlock": ("MISSING_TOKEN", partial(play, steps=("page", "precheck", "download"))),
    "straight_to_the_link": ("MISSING_TOKEN", partial(play, steps=("page", "download"))),
    "no_unlock_header": ("MISSING_TOKEN", partial(play, unlock_token=lambda got: None)),
    "reloaded_midway": ("MISSING_TOKEN", partial(play, steps=("page", "precheck", "unlock", "page", "download"))),
    "reloaded_and_prechecked": ("MISSING_TOKEN", partial(play, steps=(*STEPS[:3], "page", "precheck", "download"))),
    "neither_precheck_nor_form_token": (
        "MISSING_CONSTRAINT",
        partial(play, steps=("page", "unlock"), encode=lambda fields: "csrf_token="),
    ),
    "late_without_form_token": (
        "MISSING_TOKEN",
        partial(play, steps=(*STEPS[:2], 50, "unlock"), encode=lambda fields: "csrf_token="),
    ),
    "late_without_unlock_header": (
        "MISSING_TOKEN",
        partial(play, steps=(*STEPS[:3], 100, "download"), unlock_token=lambda got: None),
    ),
    "no_form_token": ("MISSING_TOKEN", partial(play, encode=lambda fields: "csrf_token=")),
    "raw_form_token": ("MUTATED_TOKEN", partial(play, encode=raw)),
    "unpadded_form_token": ("MUTATED_TOKEN", form_token(lambda token: token[:-2])),
    "urlsafe_form_token": ("MUTATED_TOKEN", form_token(lambda token: token.replace("+", "-").replace("/", "_"))),
    "encoded_twice": ("MUTATED_TOKEN", form_token(lambda token: quote(token, safe=""))),
    "clipped_unlock_token": ("MUTATED_TOKEN", unlock_token(lambda token: token[:32])),
    "lowered_unlock_token": ("MUTATED_TOKEN", unlock_token(str.lower)),
    "decoded_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("%2F", "/"))),
    "clipped_link": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target[:200])),
    "entities_kept": ("MUTATED_TOKEN", partial(play, mangle=lambda target: target.replace("&", "&amp;"))),
    "resorted_link": ("SIGNATURE_MISMATCH", partial(play, mangle=reversed_query)),
    "visible_unlock_token": ("WRONG_VALUE", unlock_token(lambda token: token[:8] + "...")),
    "id_as_token": ("WRONG_VALUE", partial(play, unlock_token=lambda got: got["unlock"][-1]["unlock_id"])),
    "precheck_token_as_token": ("WRONG_VALUE", partial(play, unlock_token=lambda got: got["precheck"][-1]["precheck_token"])),
    "form_token_as_token": ("WRONG_VALUE", partial(play, unlock_token=newest_form_token)),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "unlock_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda got: got["unlock"][-1]["unlock_token"].encode())),
    "newline_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda got: got["download"][-1] + b"\n")),
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, steps=("page", "unlock", "download"))),
    "precheck_before_page": ("MISSING_CONSTRAINT", partial(play, steps=("precheck", "page", "unlock", "download"))),
    "late_without_anchor": ("MISSING_CONSTRAINT", partial(play, steps=(*STEPS[:2], 50, "unlock"), anchor=False)),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, anchor=False)),
    "json_unlock": ("MISSING_CONSTRAINT", partial(play, encode=json.dumps, kind="application/json")),
    "late": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS[:3], 100, "download"))),
    "late_unlock": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS[:2], 50, *STEPS[2:]))),
    "late_for_the_window": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS[:3], 25, "download"))),
    "unlocked_twice": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS[:3], "unlock", "download"))),
    "late_for_the_link": ("EXPIRED_BEFORE_USE", partial(play, steps=("page", 70, *STEPS))),
    "late_with_the_form": ("EXPIRED_BEFORE_USE", partial(play, steps=("page", 95, *STEPS[1:]))),
    "outlived_unlock_token": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS[:3], 55, "precheck", "download"))),
    "replaced_form_token": (
        "EXPIRED_BEFORE_USE",
        partial(play, steps=("page", *STEPS), form_token=first_form_token),
    ),
    "replaced_unlock_token": (
        "EXPIRED_BEFORE_USE",
        partial(play, steps=(*STEPS[:3], "unlock", "precheck", "download"), unlock_token=first_unlock_token),
    ),
    "late_and_decoded": (
        "EXPIRED_BEFORE_USE",
        partial(play, steps=(*STEPS[:3], 25, "download"), mangle=lambda target: target.replace("%2F", "/")),
    ),
    "late_unlock_and_raw": ("EXPIRED_BEFORE_USE", partial(play, steps=(*STEPS[:2], 50, *STEPS[2:]), encode=raw)),
    "download_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/resource/.*", told_at("deadline"), 25)),
    "download_in_the_last_instant": ("SUCCESS", held(play, "/api/resource/.*", told_at("deadline"), 25, INSTANT)),
    "link_on_the_dot": ("EXPIRED_BEFORE_USE", held(mended, "/api/precheck", told_within("Link"), 60)),
    "link_in_the_last_instant": ("SUCCESS", held(mended, "/api/precheck", told_within("Link"), 60, INSTANT)),
    "form_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/precheck", told_within("Form"), 30)),
    "form_in_the_last_instant": (
        "WRONG_VALUE",
        held(
            partial(play, steps=STEPS[:3], hand_in=lambda got: got["unlock"][-1]["unlock_token"].encode()),
            "/api/precheck",
            told_within("Form"),
            30,
            INSTANT,
        ),
    ),
    "unlock_token_on_the_dot": ("EXPIRED_BEFORE_USE", with_an_old_unlock(0)),
    "unlock_token_in_the_last_instant": ("SUCCESS", with_an_old_unlock(INSTANT)),
    "unlock_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/unlock", told_at("deadline"), 25)),
    "unlock_in_the_last_instant": ("SUCCESS", held(mended, "/api/unlock", told_at("deadline"), 25, INSTANT)),
}

CELLS = {"validity": "late_for_the_window", "integrity": "decoded_link", "both": "late_and_decoded"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
