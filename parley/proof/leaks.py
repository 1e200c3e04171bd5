"""Checks that errors do not reveal what a correct client would have sent: an error names the rule, never the value.

1. Checked are the `violation` and `stray` answers to every wrong client on the same seed. None may contain a secret (`secrets`)
   that the client had not sent, or 8 consecutive characters of one: in the body or a header, forwards or backwards, ignoring
   separators. A word of the instruction is not a secret, but a slice of a longer string in the instruction is.
2. A value that the oracle has to derive (`derived`: slices, proofs, digests, signatures) may not appear in any answer to any
   client, unless that client had sent it before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from parley.proof.plays import Exchange, Play
from worlds.core.wire import WireRequest, WireResponse

SHORTEST = 8
"""Minimum length of a secret; shorter values are words and numbers."""

_STANDARD = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-type", "content-length", "host"}
    | {"user-agent", "transfer-encoding", "origin", "referer", "date", "te"}
)
_SEPARATORS = re.compile(r"[\W_]+")
_LONGEST_WORD = 48
"""Maximum length of a word of the instruction; a slice of a longer string may be a secret."""

_PARTS = re.compile(r"[\s;,:=\"'&]+")


class Leak(NamedTuple):
    """An answer that reveals a secret: its request, and the use of the secret by a correct client."""

    method: str
    path: str
    what: str


def leaks(played: Play, secrets: Mapping[str, str], fragments: Mapping[str, str]) -> Iterator[Leak]:
    """Yield every error response of one episode that reveals a secret or a fragment of one."""
    for event, exchange in played.judged():
        if event.kind in ("violation", "stray"):
            whole = list(_told(exchange, secrets, ()))
            yield from whole or _told_in_part(exchange, fragments)


def fragments(secrets: Mapping[str, str], instruction: str) -> dict[str, str]:
    """Return the fragments of secrets that no error may contain, with a description. Words of texts are excluded."""
    prose = _bare(" ".join(word for word in instruction.split() if len(word) <= _LONGEST_WORD))
    parts: dict[str, str] = {}
    for secret, what in secrets.items():
        if any(letter.isdigit() for letter in secret) and not _PARTS.search(secret):
            parts |= dict.fromkeys(_grams(_bare(secret)), f"a part of {what}")
    return {part: what for part, what in parts.items() if part not in prose and part not in prose[::-1]}


def early(played: Play, derived: Mapping[str, str]) -> Iterator[Leak]:
    """Yield every answer of an episode that reveals a value that the client has to derive and had not sent."""
    sent: set[str] = set()
    for exchange in played.exchanges:
        sent.update(parts_of(exchange.request))
        yield from _told(exchange, derived, sent)


def secrets(oracle: Play) -> dict[str, str]:
    """Return the values that a correct client sends, with a description of each."""
    unprinted: dict[str, str] = {}
    for exchange in oracle.exchanges:
        for part, what in parts_of(exchange.request).items():
            is_word = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", oracle.instruction) if part in oracle.instruction else None
            if is_word is None:
                unprinted.setdefault(part, what)
    return unprinted


def derived(oracle: Play) -> dict[str, str]:
    """Return the secrets that no answer contained before the oracle first sent them."""
    known, given = secrets(oracle), ""
    ungiven: dict[str, str] = {}
    for exchange in oracle.exchanges:
        for part in parts_of(exchange.request):
            if part in known and part not in given:
                ungiven[part] = known[part]
        given += text_of(exchange.response)
    return ungiven


def parts_of(request: WireRequest) -> dict[str, str]:
    """Return all values of a request, whole and in parts, with a description of each."""
    parts: dict[str, str] = {}
    for value, what in sent_values(request):
        for part in (value, *_PARTS.split(value)):
            if len(part) >= SHORTEST:
                parts.setdefault(part, what)
    return parts


def _told(exchange: Exchange, secrets: Mapping[str, str], sent: Collection[str]) -> Iterator[Leak]:
    text = text_of(exchange.response)
    for secret, what in secrets.items():
        if secret in text and not any(secret in said for said in sent):
            yield Leak(exchange.request.method, exchange.request.path.decode("ascii", "replace"), what)
            return


def _told_in_part(exchange: Exchange, fragments: Mapping[str, str]) -> Iterator[Leak]:
    text = _bare(text_of(exchange.response))
    sent = _bare("\n".join(value for value, _ in sent_values(exchange.request)))
    for part in (*_grams(text), *_grams(text[::-1])):
        if part in fragments and part not in sent and part[::-1] not in sent:
            yield Leak(exchange.request.method, exchange.request.path.decode("ascii", "replace"), fragments[part])
            return


def _bare(text: str) -> str:
    """Return the letters and digits of a text."""
    return _SEPARATORS.sub("", text)


def _grams(text: str) -> Iterator[str]:
    """Yield every run of SHORTEST characters."""
    return (text[start : start + SHORTEST] for start in range(len(text) - SHORTEST + 1))


def sent_values(request: WireRequest) -> Iterator[tuple[str, str]]:
    """Yield each value that a request contains, with a description."""
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
    """Yield the leaves of JSON, the fields of a form, or the whole text."""
    text = body.decode("utf-8", "replace").strip()
    document = _json(text)
    if isinstance(document, dict | list):
        for leaf in leaves(document):
            yield leaf, "a value of the body"
        return
    for name, value in parse_qsl(text) if "=" in text and "\n" not in text else ():
        yield value, f"form field {name}"
    yield text, "the body"


def text_of(answer: WireResponse) -> str:
    """Return an answer as text: headers, body, and the unescaped leaves of its JSON."""
    text = answer.body.decode("utf-8", "replace")
    return "\n".join([*(value for _, value in answer.headers), text, *leaves(_json(text))])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(document: Any) -> Iterator[str]:
    """Yield every string in a JSON document."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from leaves(value)
