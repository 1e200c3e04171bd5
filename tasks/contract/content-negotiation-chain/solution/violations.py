"""Clients that go wrong in one place each, with the label that place must earn."""

import json
import re
from collections.abc import Callable
from functools import partial
from urllib.parse import quote, unquote, unquote_plus

import httpx
from solve import Wait, decoded, play
from timing import INSTANT, Answers, Client, held, told_at


def at(step: str, accept: str) -> object:
    """An Accept header for one step, the right one elsewhere."""
    return lambda here, media_type: accept if here == step else media_type


def clipped(step: str, given: list[str]) -> dict[str, str]:
    """A client whose tool cuts a long token."""
    return {"Authorization": f"Bearer {given[-1][:40]}"}


def without_token_for(step: str, here: str, given: list[str]) -> dict[str, str]:
    """A client that authorises one of the two steps only."""
    return {} if here == step else {"Authorization": f"Bearer {given[-1]}"}


def basic(step: str, given: list[str]) -> dict[str, str]:
    """A client with another scheme."""
    return {"Authorization": f"Token {given[-1]}"}


def visible(path: str) -> str:
    """A client that took the path from a display that shortens it."""
    return path[:40] + "..."


def upper(path: str) -> str:
    """Middleware that writes escapes in the normal form of RFC 3986 section 6.2.2.1."""
    return re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), path)


def half_decoded(body: bytes, encodings: list[str]) -> bytes:
    """A client that undoes the last encoding only."""
    return decoded(body, encodings[-1:])


def parsed(body: bytes, encodings: list[str]) -> bytes:
    """A client that reads the JSON and writes it again."""
    return json.dumps(json.loads(decoded(body, encodings))).encode()


def astray(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that asks what a resource is served as which is not there, and looks at a page for people, before it starts."""
    api.options("/api/documents")
    page = api.get("/api/auth-config", headers={"Accept": "text/html"})
    if page.text.startswith("<!doctype html>"):
        play(api, instruction, wait)


def clipped_for_the_manifest(step: str, given: list[str]) -> dict[str, str]:
    """A client whose tool cuts its token for the manifest, and not for the download."""
    return clipped(step, given) if step == "manifest" else {"Authorization": f"Bearer {given[-1]}"}


def end_of(resource: str) -> Callable[[Answers], float]:
    """When what this resource gave last ends."""
    return lambda answers: told_at("expires_at")(
        [answer for answer in answers if answer.request.url.path == f"/api/{resource}"]
    )


def ready(spare: float, resource: str = "auth-config", *, fresh_token: bool = False) -> Client:
    """A client whose download is judged so long before the end of token or path."""
    return held(partial(play, fresh_token=fresh_token), "/api/download/.*", end_of(resource), 15, spare)


def measuring(api: httpx.Client, instruction: str, wait: Wait) -> None:
    """A client that hands the document in if it has the size that the manifest told."""
    sizes: list[int] = []

    def after(answer: httpx.Response) -> None:
        answer.read()
        if answer.request.method == "GET" and answer.request.url.path == "/api/resource-manifest":
            sizes.append(answer.json()["size"])

    api.event_hooks = {"response": [after]}
    play(
        api,
        instruction,
        wait,
        finish=lambda body, encodings: decoded(body, encodings) if len(decoded(body, encodings)) == sizes[-1] else b"",
    )


VIOLATIONS = {
    "astray_at_first": ("SUCCESS", astray),
    "any_type": ("MISSING_CONSTRAINT", partial(play, accept=at("config", "*/*"))),
    "no_accept": ("MISSING_CONSTRAINT", partial(play, accept=at("config", ""))),
    "any_application": ("MISSING_CONSTRAINT", partial(play, accept=at("manifest", "application/*"))),
    "json_or_any": ("MISSING_CONSTRAINT", partial(play, accept=at("manifest", "application/json, */*;q=0.5"))),
    "any_download": ("MISSING_CONSTRAINT", partial(play, accept=at("download", "*/*"))),
    "plain_json": ("WRONG_VALUE", partial(play, accept=at("config", "application/json"))),
    "first_version": ("WRONG_VALUE", partial(play, accept=lambda step, kind: re.sub("version=.*", "version=1", kind))),
    "excluded_type": ("WRONG_VALUE", partial(play, accept=lambda step, kind: f"{kind};q=0")),
    "json_download": ("WRONG_VALUE", partial(play, accept=at("download", "application/json"))),
    "late_token": ("EXPIRED_BEFORE_USE", partial(play, linger=("download", 20))),
    "late_for_manifest": ("EXPIRED_BEFORE_USE", partial(play, linger=("manifest", 35))),
    "spare_call": ("EXPIRED_BEFORE_USE", partial(play, manifests=2)),
    "late_path": ("EXPIRED_BEFORE_USE", partial(play, linger=("download", 20), fresh_token=True)),
    "replaced_token": (
        "EXPIRED_BEFORE_USE",
        partial(play, tokens=2, carry=lambda step, given: {"Authorization": f"Bearer {given[0]}"}),
    ),
    "late_and_clipped": ("EXPIRED_BEFORE_USE", partial(play, linger=("manifest", 35), carry=clipped)),
    "late_and_decoded": ("EXPIRED_BEFORE_USE", partial(play, linger=("download", 20), fresh_token=True, mangle=unquote)),
    "clipped_token": ("MUTATED_TOKEN", partial(play, carry=clipped)),
    "clipped_for_the_manifest": ("MUTATED_TOKEN", partial(play, carry=clipped_for_the_manifest)),
    "no_token": ("MISSING_TOKEN", partial(play, carry=lambda step, given: {})),
    "no_token_for_download": ("MISSING_TOKEN", partial(play, carry=partial(without_token_for, "download"))),
    "other_scheme": ("MISSING_TOKEN", partial(play, carry=basic)),
    "decoded_path": ("MUTATED_TOKEN", partial(play, mangle=unquote)),
    "reencoded_path": ("MUTATED_TOKEN", partial(play, mangle=lambda path: quote(unquote(path)))),
    "form_reencoded_path": ("MUTATED_TOKEN", partial(play, mangle=lambda path: quote(unquote_plus(path)))),
    "twice_encoded_path": ("MUTATED_TOKEN", partial(play, mangle=quote)),
    "normalised_path": ("MUTATED_TOKEN", partial(play, mangle=upper)),
    "plus_escaped": ("MUTATED_TOKEN", partial(play, mangle=lambda path: path.replace("+", "%2B"))),
    "clipped_path": ("MUTATED_TOKEN", partial(play, mangle=lambda path: path[:64])),
    "visible_path": ("WRONG_VALUE", partial(play, mangle=visible)),
    "no_manifest": ("MISSING_CONSTRAINT", partial(play, manifests=0)),
    "no_anchor": ("MISSING_CONSTRAINT", partial(play, anchor=lambda part: {})),
    "shifted_anchor": ("WRONG_VALUE", partial(play, shift=1)),
    "undecoded": ("WRONG_VALUE", partial(play, finish=lambda body, encodings: body)),
    "half_decoded": ("WRONG_VALUE", partial(play, finish=half_decoded)),
    "parsed_document": ("WRONG_VALUE", partial(play, finish=parsed)),
    "echoed_document": ("WRONG_VALUE", partial(play, finish=lambda body, encodings: decoded(body, encodings) + b"\n")),
    "token_on_the_dot": ("EXPIRED_BEFORE_USE", ready(0)),
    "token_in_the_last_instant": ("SUCCESS", ready(INSTANT)),
    "path_on_the_dot": ("EXPIRED_BEFORE_USE", ready(0, "resource-manifest", fresh_token=True)),
    "path_in_the_last_instant": ("SUCCESS", ready(INSTANT, "resource-manifest", fresh_token=True)),
    "size_compared": ("SUCCESS", measuring),
}

CELLS = {"validity": "late_token", "integrity": "reencoded_path", "both": "late_and_clipped"}
"""Proposition 1: which of these fails only in time, only in bytes, in both."""
