"""Clients that go wrong in one place each, with the label that place must earn."""

import base64
import json
from functools import partial
from urllib.parse import quote

import httpx
from solve import Pairs, play
from timing import INSTANT, held, told_at, told_within

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def written(fields: Pairs, escape: object = str) -> str:
    """A form put together by hand, with this for an encoder."""
    return "&".join(f"{name}={escape(value)}" for name, value in fields.items())  # type: ignore[operator]


def raw(api: httpx.Client, fields: Pairs) -> httpx.Response:
    """A client that pastes the secret into the form as it is, as `curl -d` does."""
    return api.post("/token", content=written(fields), headers=FORM)


def ampersands_only(api: httpx.Client, fields: Pairs) -> httpx.Response:
    """A client that escapes what breaks the form, and leaves the plus, which is read as a space."""
    return api.post("/token", content=written(fields, lambda value: quote(value, safe="+")), headers=FORM)


def taken_for_encoded(api: httpx.Client, fields: Pairs) -> httpx.Response:
    """A client that takes %2B for a plus that is encoded already."""
    return api.post("/token", content=written(fields, lambda value: quote(value, safe="%")), headers=FORM)


def encoded_twice(fields: Pairs) -> Pairs:
    """A client that encodes the secret before the library does."""
    return {**fields, "client_secret": quote(fields["client_secret"], safe="")}


def by_header(api: httpx.Client, fields: Pairs) -> httpx.Response:
    """A client that puts the credentials in a Basic header (RFC 6749 section 2.3.1)."""
    pair = base64.b64encode(f"{fields['client_id']}:{fields['client_secret']}".encode()).decode()
    return api.post("/token", data={"grant_type": fields["grant_type"]}, headers={"Authorization": f"Basic {pair}"})


def authorized(change: object, token: str, part: str) -> Pairs:
    """Both headers, with a change to what stands in Authorization."""
    return {"Authorization": change(token), "X-Seed-Anchor": part}  # type: ignore[operator]


def bearing(change: object) -> object:
    """A change to the token itself."""
    return partial(authorized, lambda token: f"Bearer {change(token)}")  # type: ignore[operator]


def clipped(token: str) -> str:
    """A token cut short."""
    return token[:-4]


def long_enough(told: float, life: float) -> float:
    """A client that comes back when any token of this service is long over."""
    return 130


def without(field: str) -> partial[None]:
    """A client that leaves one field of the form out."""
    return partial(play, fields=lambda fields: {name: value for name, value in fields.items() if name != field})


VIOLATIONS = {
    "json_body": ("MISSING_CONSTRAINT", partial(play, ask=lambda api, fields: api.post("/token", json=fields))),
    "basic_header": ("MISSING_CONSTRAINT", partial(play, ask=by_header)),
    "no_grant_type": ("MISSING_CONSTRAINT", without("grant_type")),
    "no_client_id": ("MISSING_CONSTRAINT", without("client_id")),
    "no_secret": ("MISSING_CONSTRAINT", without("client_secret")),
    "other_client": ("WRONG_VALUE", partial(play, fields=lambda fields: {**fields, "client_id": "client-0000000000"})),
    "other_grant": ("WRONG_VALUE", partial(play, fields=lambda fields: {**fields, "grant_type": "password"})),
    "raw_secret": ("WRONG_VALUE", partial(play, ask=raw)),
    "spaced_secret": ("WRONG_VALUE", partial(play, ask=ampersands_only)),
    "half_encoded_secret": ("WRONG_VALUE", partial(play, ask=taken_for_encoded)),
    "twice_encoded_secret": ("WRONG_VALUE", partial(play, fields=encoded_twice)),
    "no_token": ("MISSING_TOKEN", partial(play, headers=lambda token, part: {"X-Seed-Anchor": part})),
    "bare_token": ("MISSING_TOKEN", partial(play, headers=partial(authorized, str))),
    "token_in_query": (
        "MISSING_TOKEN",
        partial(play, query="?access_token={token}", headers=lambda token, part: {"X-Seed-Anchor": part}),
    ),
    "clipped_token": ("MUTATED_TOKEN", partial(play, headers=bearing(clipped))),
    "quoted_token": ("MUTATED_TOKEN", partial(play, headers=bearing(json.dumps))),
    "visible_token": ("WRONG_VALUE", partial(play, headers=bearing(lambda token: token[:12] + "..."))),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, pace=long_enough, keep=True)),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/job", told_within("expires_in"), 2)),
    "token_in_the_last_instant": ("SUCCESS", held(play, "/api/job", told_within("expires_in"), 2, INSTANT)),
    "result_on_the_dot": ("EXPIRED_BEFORE_USE", held(play, "/api/data", told_at("result_expires_at"), 2)),
    "result_in_the_last_instant": ("SUCCESS", held(play, "/api/data", told_at("result_expires_at"), 2, INSTANT)),
    "job_asked_twice": ("SUCCESS", partial(play, starts=2)),
    "ended_token": ("EXPIRED_BEFORE_USE", partial(play, ended=True)),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, pace=long_enough, keep=True, headers=bearing(clipped))),
    "impatient": ("BACKOFF_VIOLATION", partial(play, pace=lambda told, life: 0)),
    "half_the_wait": ("BACKOFF_VIOLATION", partial(play, pace=lambda told, life: told / 2)),
    "no_job": ("MISSING_CONSTRAINT", partial(play, starts=0)),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, headers=lambda token, part: {"Authorization": f"Bearer {token}"})),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "rewritten_result": ("WRONG_VALUE", partial(play, hand_in=lambda answer: json.dumps(answer.json()).encode())),
    "receipt_only": ("WRONG_VALUE", partial(play, hand_in=lambda answer: answer.json()["receipt"].encode())),
}

CELLS = {"validity": "late_token", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
