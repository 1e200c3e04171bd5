"""Does an error ever tell what a correct client would have sent? A refusal names the rule, never the value.

1. `secrets` are the values that the oracle sends in this episode: headers, query, path and body, whole and in their parts, from
   8 characters on. A word that the instruction itself prints is no secret; a slice of a longer string in it is one.
2. No body of a `violation` or `stray` answer, to any wrong client on the same seed, may contain one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from harness.authoring.plays import Play
from worlds.core.wire import WireRequest

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
    """Every secret in every refusal of one episode."""
    for event, exchange in played.judged():
        if event.kind in ("violation", "stray"):
            told = _text(exchange.response.body)
            path = exchange.request.path.decode("ascii", "replace")
            for secret, what in secrets.items():
                if secret in told:
                    yield Leak(event.method, path, what)
                    break


def secrets(oracle: Play) -> dict[str, str]:
    """What a correct client sends, value -> what it is."""
    found: dict[str, str] = {}
    for exchange in oracle.exchanges:
        for value, what in _sent(exchange.request):
            for part in (value, *_PARTS.split(value)):
                if len(part) >= SHORTEST and part not in found and not _is_printed(part, oracle.instruction):
                    found[part] = what
    return found


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
        for leaf in _leaves(document):
            yield leaf, "a value of the body"
        return
    for name, value in parse_qsl(text) if "=" in text and "\n" not in text else ():
        yield value, f"form field {name}"
    yield text, "the body"


def _text(body: bytes) -> str:
    """An answer's body as text, with the leaves of its JSON unescaped beside it."""
    text = body.decode("utf-8", "replace")
    return "\n".join([text, *_leaves(_json(text))])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from _leaves(value)


def _is_printed(value: str, instruction: str) -> bool:
    """Whether the instruction has the value as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", instruction) is not None
