"""Clients derived from a task's oracle. Each sends the oracle's requests with one change that no contract may accept.

1. A wrong result: empty, shorter, longer, that of another seed, or another answer of the same episode.
2. A duplicate field, once with the right value and once with a wrong one, in headers, query or JSON (RFC 9110 section 5.3
   combines both into one value).
3. An omitted step: success shows that the world does not require it.
4. A request that is duplicated, omitted or swapped with the next: the world must not fail, whatever a client sends.
5. An issued value with its case changed, padded, truncated, or replaced by the newer one that the same request would issue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

from harness.registry import Task
from parley.proof.instances import SUBMISSION, submission
from parley.proof.leaks import parts_of, sent_values, text_of
from parley.proof.plays import SOLVE, Play, play
from worlds.core.wire import Transport, WireRequest, WireResponse

SUBMITTED, TWICE, OTHERWISE, LEFT_OUT = "submission", "twice", "otherwise", "left-out"
"""Name prefixes: a wrong result, a duplicate field, a field with only a wrong value, an omitted step."""

DOUBLED, DROPPED, SWAPPED = "doubled", "dropped", "swapped"
"""Changes to one request of the oracle: sent twice, omitted, or sent after the next one."""

OLDER, UNREAD = "older", "unread"
"""Name prefixes: a value used after a newer one was issued; any value of equal length, to test whether the world reads it."""

Change = Callable[[WireRequest], WireRequest]
Said = Callable[[Any, Any], tuple[Any, ...]]
"""Function from the right and a wrong value of a field to the values that are sent, in order."""

LISTS = frozenset(
    {"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "cookie", "forwarded"}
    | {"if-match", "if-none-match", "link", "prefer", "te", "trailer", "via", "warning"}
)
"""Headers with list values. Two such headers are equivalent to one longer list (likewise cookies, RFC 6265 section 5.4)."""

VARIANTS: dict[str, Callable[[str], str]] = {
    "recased": str.swapcase,
    "padded": lambda value: value + "=",
    "spaced": lambda value: value + " ",
    "truncated": lambda value: value[:-1],
    UNREAD: lambda value: "".join("0" if letter != "0" else "1" for letter in value),
}
"""Functions from an issued value to the value that is sent instead."""

_WRITINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda value: quote(value, safe=""),
    quote_plus,
    lambda value: json.dumps(value)[1:-1],
)
"""Encodings of a value in requests: verbatim, in a query, in a form, in JSON."""

_TRANSPORTS = frozenset({"user-agent", "content-type", "content-length", "host", "origin", "referer", "date"})


class Field(NamedTuple):
    """A named field of requests in a `header`, `query` or `body`."""

    where: str
    name: str

    def __str__(self) -> str:
        return f"{self.where} {self.name}".rstrip()


def changed(task: Task, name: str, seed: int, change: Change) -> Play:
    """Play the oracle with every request changed by `change`; the play is called `name`."""
    return _played(name, task, seed, lambda inner: lambda request: inner(change(request)))


def submissions(task: Task, oracle: Play, other: bytes | None) -> Iterator[Play]:
    """Yield plays of the oracle with each wrong result; `other` is another seed's result."""
    right = submission(oracle)
    if right is None:
        return
    answers = [answer.body for _, answer in oracle.exchanges if answer.status < 300 and answer.body]
    wrong = {
        "empty": b"", "truncated": right[:-1], "newline": right + b"\n", "space": b" " + right, "another seed's": other,
        "another answer": next((body for body in answers if body != right), None),
    }  # fmt: skip
    for name, body in wrong.items():
        if body is not None and body != right:
            yield changed(task, f"{SUBMITTED}:{name}", oracle.seed, partial(_submitting, body))


def fields(oracle: Play) -> list[Field]:
    """Return the distinct fields of the oracle's requests, without transport headers and headers with list values."""
    told: dict[Field, None] = {}
    for sent, _ in oracle.exchanges:
        if not _is_rule(sent):
            continue
        told |= {Field("header", name.lower()): None for name, _ in sent.headers if name.lower() not in LISTS | _TRANSPORTS}
        told |= {Field("query", pair.partition(b"=")[0].decode("latin-1")): None for pair in sent.query.split(b"&") if pair}
        told |= {Field("body", ""): None} if _object(sent.body) else {}
    return list(told)


def twice(task: Task, oracle: Play, field: Field) -> Iterator[Play]:
    """Yield plays of the oracle with one duplicate field: the right value first, and the right value last."""
    orders: dict[str, Said] = {"first": lambda right, wrong: (right, wrong), "last": lambda right, wrong: (wrong, right)}
    for order, said in orders.items():
        yield changed(task, f"{TWICE}:{field}, the right one {order}", oracle.seed, partial(_said, field, said))


def otherwise(task: Task, oracle: Play, field: Field) -> Play:
    """Play the oracle with one wrong field. Success shows that the world does not read the field."""
    name = f"{OTHERWISE}:{field}"
    return changed(task, name, oracle.seed, partial(_said, field, lambda right, wrong: (wrong,)))


def left_out(task: Task, oracle: Play, step: str) -> Play:
    """Play the oracle without the requests of one method and path; it receives the original answers to them."""

    def altered(inner: Transport) -> Transport:
        known = iter([answer for sent, answer in oracle.exchanges if _step(sent) == step])
        return lambda request: next(known) if _step(request) == step else inner(request)

    return _played(f"{LEFT_OUT}:{step}", task, oracle.seed, altered)


class IssuedValue(NamedTuple):
    """A value that differs by seed and that a client received and sends, with the first request that sends it."""

    value: str
    what: str
    since: int
    issued: int | None
    """Index of the request whose answer issued it; None if the instruction contains it or the client sent it first."""


def artifacts(oracle: Play, other: Play) -> list[IssuedValue]:
    """Return the values that the oracle sends after it received or sent them, except those that `other` sends too."""
    constant = {part for sent, _ in other.exchanges for part in parts_of(sent)}
    values: dict[str, IssuedValue] = {}
    known, issuers = oracle.instruction, list[str]()
    for number, (sent, answer) in enumerate(oracle.exchanges):
        if _is_rule(sent):
            for part, what in parts_of(sent).items():
                if part not in values and part not in constant and part in known:
                    issued = next((place for place, text in enumerate(issuers) if part in text), None)
                    values[part] = IssuedValue(part, what, number, issued)
        issuers.append(text_of(answer))
        known += "\n" + issuers[-1] + "\n" + "\n".join(parts_of(sent))
    return [one for one in values.values() if not any(less in one.value and less != one.value for less in values)]


def with_variant(task: Task, oracle: Play, artifact: IssuedValue, variant: str) -> Play | None:
    """Play the oracle with a variant of an artifact. Return None if that changes no request."""
    changes: list[WireRequest] = []

    def send(inner: Transport, number: int, request: WireRequest) -> WireResponse:
        # a value in a list may have spaces around it
        is_whole = variant != "spaced" or any(artifact.value == said for said, _ in sent_values(request))
        is_due = number >= artifact.since and is_whole
        sent = _replaced(request, artifact.value, VARIANTS[variant]) if is_due else request
        if sent != request:
            changes.append(sent)
        return inner(sent)

    played = _played(f"{variant}:{artifact.what}", task, oracle.seed, _by_number(send))
    return played if changes else None


def with_older(task: Task, oracle: Play, artifact: IssuedValue) -> Play | None:
    """Play the oracle with an artifact that is used after a newer one was issued, or return None if no newer one is issued."""
    newer: list[WireResponse] = []

    def send(inner: Transport, number: int, request: WireRequest) -> WireResponse:
        answer = inner(request)
        if number == artifact.issued:
            newer.append(inner(request))
        return answer

    played = _played(f"{OLDER}:{artifact.what}", task, oracle.seed, _by_number(send))
    issued = bool(newer) and newer[0].status < 300 and artifact.value not in text_of(newer[0])
    return played if issued else None


def disturbed(task: Task, oracle: Play) -> Iterator[tuple[int, Play]]:
    """Yield plays of the oracle with one request doubled, dropped or swapped with the next, with that request's number."""
    for number in range(len(oracle.exchanges)):
        for how in (DOUBLED, DROPPED, SWAPPED):
            yield number, _played(how, task, oracle.seed, _disturbing(how, number, oracle))


def _disturbing(how: str, number: int, oracle: Play) -> Callable[[Transport], Transport]:
    late: list[WireRequest] = []

    def send(inner: Transport, place: int, request: WireRequest) -> WireResponse:
        if how == DOUBLED:
            answer = inner(request)
            return inner(request) if place == number else answer
        if place == number:
            late.append(request)
            return oracle.exchanges[number].response
        answer = inner(request)
        if how == SWAPPED and place == number + 1:
            inner(late[0])
        return answer

    return _by_number(send)


def _by_number(send: Callable[[Transport, int, WireRequest], WireResponse]) -> Callable[[Transport], Transport]:
    """Return a wrapper of transports that sends each request with its number, from 0."""

    def altered(inner: Transport) -> Transport:
        numbers = count()
        return lambda request: send(inner, next(numbers), request)

    return altered


def _replaced(sent: WireRequest, value: str, change: Callable[[str], str]) -> WireRequest:
    """Return the request with the value replaced by `change(value)` in every place and encoding."""
    if not _is_rule(sent):
        return sent
    other, target, body = change(value), sent.target, sent.body
    for written in _WRITINGS:
        old, new = written(value).encode(), written(other).encode()
        target = target.replace(old, new.replace(b" ", b"%20"))
        body = body.replace(old, new)
    # trailing spaces are not part of a header's value (RFC 9110 section 5.5)
    headers = tuple((name, said.replace(value, other).strip(" ")) for name, said in sent.headers)
    return sent._replace(headers=headers, target=target, body=body)


def _step(sent: WireRequest) -> str:
    return f"{sent.method} {sent.path.decode('latin-1')}"


def _played(name: str, task: Task, seed: int, altered: Callable[[Transport], Transport]) -> Play:
    played = play(task, SOLVE, seed, altered=altered)
    played.player = name
    return played


def _submitting(body: bytes, sent: WireRequest) -> WireRequest:
    return sent._replace(body=body) if (sent.method, sent.path) == SUBMISSION else sent


def _said(field: Field, said: Said, sent: WireRequest) -> WireRequest:
    """Return the request with the field replaced by the values of `said`, if it has the field."""
    if not _is_rule(sent):
        return sent
    if field.where == "header":
        pairs = [(n, one) for n, v in sent.headers for one in (said(v, _other(v)) if n.lower() == field.name else (v,))]
        return sent._replace(headers=tuple(pairs))
    if field.where == "query" and sent.query:
        written: list[bytes] = []
        for pair in sent.query.split(b"&"):
            name, equals, value = pair.partition(b"=")
            is_field = name.decode("latin-1") == field.name
            written += said(pair, name + equals + _other(value)) if is_field else (pair,)
        return sent._replace(target=sent.path + b"?" + b"&".join(written))
    document = _object(sent.body) if field.where == "body" else None
    if not document:
        return sent
    written = [json.dumps(one)[1:-1].encode() for one in said(document, {n: _other(v) for n, v in document.items()})]
    return sent._replace(body=b"{" + b",".join(written) + b"}")


def _is_rule(sent: WireRequest) -> bool:
    """Return True if the task's own rules judge the request."""
    return (sent.method, sent.path) != SUBMISSION and not sent.path.startswith(b"/clock")


def _other(value: Any) -> Any:
    """Return a different value of the same type."""
    if isinstance(value, bytes):
        return value[:-1] + (b"1" if value.endswith(b"0") else b"0")
    if isinstance(value, str):
        return value[:-1] + ("1" if value.endswith("0") else "0")
    return not value if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document else None
