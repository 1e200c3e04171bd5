"""Clients that go wrong in one place each, with the label that place must earn."""

import base64
import json
from collections.abc import Callable
from functools import partial
from urllib.parse import quote, unquote, urlencode

import httpx
from solve import Fields, hidden_value, least, play, raw_value
from timing import INSTANT, Wait, after, held, told_at, told_within


def changed(field: str, change: Callable[[str], str]) -> partial[None]:
    """A client that alters one field before it encodes the form."""
    return partial(play, edit=lambda fields: {**fields, field: change(fields[field])})


def without(field: str) -> partial[None]:
    """A client that leaves one field out."""
    return partial(play, edit=lambda fields: {name: value for name, value in fields.items() if name != field})


def raw(fields: Fields) -> str:
    """A form put together by hand, as `curl -d` sends it."""
    return "&".join(f"{name}={value}" for name, value in fields.items())


def raw_token(fields: Fields) -> str:
    """A form whose comment is encoded, but not its token."""
    return f"csrf_token={fields['csrf_token']}&comment={quote(fields['comment'])}"


def raw_comment(fields: Fields) -> str:
    """A form whose token is encoded, but not its comment."""
    return f"csrf_token={quote(fields['csrf_token'], safe='')}&comment={fields['comment']}"


def straight(text: str) -> str:
    """Typographic quotes made plain, as many a model types them."""
    return text.replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"')


def repadded(token: str) -> str:
    """A token decoded and written in the other base64 alphabet."""
    return base64.urlsafe_b64encode(base64.b64decode(token)).decode()


def as_fast_as_a_robot(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that sends its form an instant sooner than it may, and goes on; where it may at once, one that sends none."""
    if seconds := least(instruction):
        held(partial(play, patient=False), "/api/precheck", after("/task", seconds), 4, INSTANT)(api, instruction, wait)
    else:
        play(api, instruction, wait, steps=("page", "precheck", "result"))


RELOADED = ("page", "precheck", "page", "submit", "result")
AGAIN = ("page", "precheck", "precheck", "submit", "result")
REPLACED = ("page", "page", "precheck", "submit", "result")

VIOLATIONS = {
    "raw_form": ("MUTATED_TOKEN", partial(play, encode=raw)),
    "raw_token": ("MUTATED_TOKEN", partial(play, encode=raw_token)),
    "references_kept": ("MUTATED_TOKEN", partial(play, token_of=lambda pages: raw_value(pages[-1]))),
    "encoded_twice": ("MUTATED_TOKEN", changed("csrf_token", lambda token: quote(token, safe=""))),
    "urlsafe_token": ("MUTATED_TOKEN", changed("csrf_token", repadded)),
    "unpadded_token": ("MUTATED_TOKEN", changed("csrf_token", lambda token: token.rstrip("="))),
    "wrapped_token": ("MUTATED_TOKEN", changed("csrf_token", lambda token: token[:76] + "\n" + token[76:])),
    "decoded_token": ("MUTATED_TOKEN", changed("csrf_token", lambda token: base64.b64decode(token).hex())),
    "visible_token": ("WRONG_VALUE", changed("csrf_token", lambda token: token[:20] + "...")),
    "raw_comment": ("WRONG_VALUE", partial(play, encode=raw_comment)),
    "straight_quotes": ("WRONG_VALUE", changed("comment", straight)),
    "ascii_comment": ("WRONG_VALUE", changed("comment", lambda text: text.encode("ascii", "ignore").decode())),
    "unescaped_comment": ("WRONG_VALUE", changed("comment", unquote)),
    "newline_after_comment": ("WRONG_VALUE", changed("comment", lambda text: text + "\n")),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "answer_handed_in": ("WRONG_VALUE", partial(play, hand_in=lambda result: result.text)),
    "handed_in_after_submit": ("WRONG_VALUE", partial(play, steps=(*RELOADED[:2], "submit"), hand_in=lambda a: a.text)),
    "no_precheck": ("MISSING_CONSTRAINT", partial(play, steps=("page", "submit", "result"))),
    "precheck_first": ("MISSING_CONSTRAINT", partial(play, steps=("precheck", "page", "submit", "result"))),
    "reloaded": ("MISSING_CONSTRAINT", partial(play, steps=RELOADED)),
    "result_first": ("MISSING_CONSTRAINT", partial(play, steps=("page", "precheck", "result"))),
    "as_fast_as_a_robot": ("MISSING_CONSTRAINT", as_fast_as_a_robot),
    "json_body": ("MISSING_CONSTRAINT", partial(play, encode=json.dumps, kind="application/json")),
    "untyped_form": ("MISSING_CONSTRAINT", partial(play, kind="text/plain")),
    "no_comment": ("MISSING_CONSTRAINT", without("comment")),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, anchor=False)),
    "late_without_precheck": ("MISSING_CONSTRAINT", partial(play, steps=("page", "submit"), linger=("submit", 85))),
    "no_token": ("MISSING_TOKEN", without("csrf_token")),
    "late": ("EXPIRED_BEFORE_USE", partial(play, linger=("submit", 85))),
    "late_for_the_window": ("EXPIRED_BEFORE_USE", partial(play, linger=("submit", 72))),
    "late_before_precheck": ("EXPIRED_BEFORE_USE", partial(play, linger=("precheck", 85))),
    "replaced_token": ("EXPIRED_BEFORE_USE", partial(play, steps=REPLACED, token_of=lambda pages: hidden_value(pages[0]))),
    "submitted_twice": ("EXPIRED_BEFORE_USE", partial(play, steps=("page", "precheck", "submit", "submit", "result"))),
    "commented_twice": ("VERSION_CONFLICT", partial(play, steps=("page", "precheck", "submit") * 2)),
    "late_and_raw": ("EXPIRED_BEFORE_USE", partial(play, linger=("submit", 85), encode=raw)),
    "late_for_the_window_and_raw": ("EXPIRED_BEFORE_USE", partial(play, linger=("submit", 72), encode=raw)),
    "late_and_altered": ("EXPIRED_BEFORE_USE", partial(play, linger=("submit", 85), edit=lambda f: {**f, "comment": "tea"})),
    "spaces_as_plus": (
        "WRONG_VALUE",
        partial(play, encode=lambda fields: urlencode({**fields, "comment": fields["comment"].replace(" ", "+")})),
    ),
    "submit_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/submit", told_at("deadline"), 2)),
    "submit_in_the_last_instant": ("SUCCESS", held(play, "/api/submit", told_at("deadline"), 2, INSTANT)),
    "window_opened_again": (
        "SUCCESS",
        held(partial(play, steps=AGAIN, patient=False), "/api/precheck", told_within("works for"), 4, INSTANT, turn=2),
    ),
    "form_on_the_dot": ("EXPIRED_BEFORE_USE", held(partial(play, patient=False), "/api/precheck", told_within("works for"), 4)),
    "form_in_the_last_instant": (
        "SUCCESS",
        held(partial(play, patient=False), "/api/precheck", told_within("works for"), 4, INSTANT),
    ),
}

CELLS = {"validity": "late", "integrity": "raw_token", "both": "late_and_raw"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
