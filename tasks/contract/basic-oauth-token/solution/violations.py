"""Clients that go wrong in one place each, with the label that place must earn."""

import base64
import json
from functools import partial
from urllib.parse import quote

import httpx
from solve import Pairs, Wait, answered_at, play
from timing import INSTANT, Client, held, told_at, told_within

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


def with_secret(change: object) -> partial[None]:
    """A client that changes the secret before it encodes the form."""
    return partial(play, fields=lambda fields: {**fields, "client_secret": change(fields["client_secret"])})  # type: ignore[operator]


def for_the_job(change: object) -> Client:
    """A client whose start of the job bears another token than it was given, or none."""

    def client(api: httpx.Client, instruction: str, wait: Wait) -> None:
        def before(request: httpx.Request) -> None:
            if request.url.path == "/api/job":
                told = {"Authorization": change(request.headers.pop("Authorization"))}  # type: ignore[operator]
                request.headers.update({name: text for name, text in told.items() if text})

        api.event_hooks = {"request": [before]}
        play(api, instruction, wait)

    return client


def counting_down(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks for the job twice, goes on if the second answer tells what is left, and comes as the job is done."""
    done: list[float] = []

    def check(answer: httpx.Response) -> None:
        if answer.request.url.path == "/api/job":
            done.append(answered_at(answer) + float(answer.headers["Retry-After"]))
            if done[-1] != done[0]:
                raise LookupError

    api.event_hooks = {"response": [check]}
    play(api, instruction, wait, starts=2, pace=lambda told, life: told - 2)


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
    "secret_with_a_space": ("WRONG_VALUE", with_secret(lambda secret: f"{secret} ")),
    "space_before_the_secret": ("WRONG_VALUE", with_secret(lambda secret: f" {secret}")),
    "secret_in_capitals": ("WRONG_VALUE", with_secret(str.upper)),
    "no_token_for_the_job": ("MISSING_TOKEN", for_the_job(lambda told: "")),
    "clipped_token_for_the_job": ("MUTATED_TOKEN", for_the_job(clipped)),
    "result_an_instant_early": ("BACKOFF_VIOLATION", partial(play, pace=lambda told, life: told - 2 - INSTANT)),
    "result_as_the_job_is_done": ("SUCCESS", counting_down),
}

CELLS = {"validity": "late_token", "integrity": "clipped_token", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
