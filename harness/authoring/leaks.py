"""Does an error ever tell what a correct client would have sent? A refusal names the rule, never the value.

1. `secrets` are the values that the oracle sends in this episode: headers, query, path and body, whole and in their parts, from
   8 characters on. A word that the instruction itself prints is no secret; a slice of a longer string in it is one.
2. No `violation` or `stray` answer, to any wrong client on the same seed, may contain one, in its body or a header.
3. What the oracle has to derive (`derived`: a secret that no answer had given out before it was first sent: slices, proofs,
   digests, signatures) may stand in no answer at all, whoever asked, unless that client had sent it before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from harness.authoring.plays import Exchange, Play
from worlds.core.wire import WireRequest, WireResponse

SHORTEST = 8
"""Shorter values are words and numbers."""

_STANDARD = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-type", "content-length", "host"}
    | {"user-agent", "transfer-encoding", "origin", "referer", "date", "te"}
)
_PARTS = re.compile(r"[\s;,:=\"'&]+")


class Leak(NamedTuple):
    """An answer that told a secret: which request got it, and what the secret is to a correct client."""

    method: str
    path: str
    what: str


def leaks(played: Play, secrets: Mapping[str, str]) -> Iterator[Leak]:
    """Every refusal of one episode that tells a secret."""
    for event, exchange in played.judged():
        if event.kind in ("violation", "stray"):
            yield from _told(exchange, secrets, ())


def early(played: Play, derived: Mapping[str, str]) -> Iterator[Leak]:
    """Every answer of one episode that tells what its client should have derived and had not sent."""
    sent: set[str] = set()
    for exchange in played.exchanges:
        sent.update(_parts(exchange.request))
        yield from _told(exchange, derived, sent)


def secrets(oracle: Play) -> dict[str, str]:
    """What a correct client sends, value -> what it is."""
    unprinted: dict[str, str] = {}
    for exchange in oracle.exchanges:
        for part, what in _parts(exchange.request).items():
            if not _is_printed(part, oracle.instruction):
                unprinted.setdefault(part, what)
    return unprinted


def derived(oracle: Play) -> dict[str, str]:
    """Of the secrets, those that no answer had given out when the oracle first sent them."""
    known, given = secrets(oracle), ""
    ungiven: dict[str, str] = {}
    for exchange in oracle.exchanges:
        for part in _parts(exchange.request):
            if part in known and part not in given:
                ungiven[part] = known[part]
        given += _text(exchange.response)
    return ungiven


def _parts(request: WireRequest) -> dict[str, str]:
    """All that a request says, whole and in parts, value -> what it is."""
    parts: dict[str, str] = {}
    for value, what in _sent(request):
        for part in (value, *_PARTS.split(value)):
            if len(part) >= SHORTEST:
                parts.setdefault(part, what)
    return parts


def _told(exchange: Exchange, secrets: Mapping[str, str], sent: Collection[str]) -> Iterator[Leak]:
    text = _text(exchange.response)
    for secret, what in secrets.items():
        if secret in text and not any(secret in said for said in sent):
            yield Leak(exchange.request.method, exchange.request.path.decode("ascii", "replace"), what)
            return


def _sent(request: WireRequest) -> Iterator[tuple[str, str]]:
    for name, value in request.headers:
        if name.lower() not in _STANDARD:
            yield value, f"header {name}"
    for pair in request.query.decode("latin-1").split("&"):
        name, _, value = pair.partition("=")
        yield value, f"query {name}"
        yield unquote(value), f"query {name}"
    for segment in request.path.decode("latin-1").split("/"):
        yield segment, "a part of the path"
    yield from _in_body(request.body)


def _in_body(body: bytes) -> Iterator[tuple[str, str]]:
    """The leaves of JSON, the fields of a form, or the text as it is."""
    text = body.decode("utf-8", "replace").strip()
    document = _json(text)
    if isinstance(document, dict | list):
        for leaf in leaves(document):
            yield leaf, "a value of the body"
        return
    for name, value in parse_qsl(text) if "=" in text and "\n" not in text else ():
        yield value, f"form field {name}"
    yield text, "the body"


def _text(answer: WireResponse) -> str:
    """An answer as text: headers, body, and the leaves of its JSON unescaped beside it."""
    text = answer.body.decode("utf-8", "replace")
    return "\n".join([*(value for _, value in answer.headers), text, *leaves(_json(text))])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(document: Any) -> Iterator[str]:
    """Every string in a JSON document."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from leaves(value)


def _is_printed(value: str, instruction: str) -> bool:
    """Whether the instruction has the value as a word of its own."""
    return value in instruction and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", instruction) is not None
