"""Clients made from a task's own oracle: each sends what it sends, but for one thing that no contract may let pass.

1. A wrong result: nothing, less, more, another seed's, another answer of the same episode.
2. A field said twice, once rightly and once not (RFC 9110 section 5.3 makes one value of both): headers, the query, JSON.
3. A step left out: who succeeds so has shown that the world does not demand it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from harness.authoring.instances import SUBMISSION, submission
from harness.authoring.plays import SOLVE, Play, play
from harness.registry import Task
from worlds.core.wire import Transport, WireRequest

SUBMITTED, TWICE, OTHERWISE, LEFT_OUT = "submission", "twice", "otherwise", "left-out"
"""What names start with: a wrong result, a field said twice, a field said wrongly and once, a step left out."""

Change = Callable[[WireRequest], WireRequest]
Said = Callable[[Any, Any], tuple[Any, ...]]
"""From the right value of a field and a wrong one to the values that are sent, in their order."""

LISTS = frozenset(
    {"accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "cookie", "forwarded"}
    | {"if-match", "if-none-match", "link", "prefer", "te", "trailer", "via", "warning"}
)
"""Headers whose value is a list, so that two of them are one longer list (cookies likewise, RFC 6265 section 5.4)."""

_TRANSPORTS = frozenset({"user-agent", "content-type", "content-length", "host", "origin", "referer", "date"})


class Field(NamedTuple):
    """Something that requests carry by name: `header`, `query` or `body`."""

    where: str
    name: str

    def __str__(self) -> str:
        return f"{self.where} {self.name}".rstrip()


def changed(task: Task, name: str, seed: int, change: Change) -> Play:
    """The oracle, each of whose requests is changed on its way; the play is called `name`."""

    def altered(inner: Transport) -> Transport:
        return lambda request: inner(change(request))

    return _named(name, play(task, SOLVE, seed, altered=altered))


def submissions(task: Task, oracle: Play, other: bytes | None) -> Iterator[Play]:
    """The oracle with each wrong result in the place of the right one; `other` is another seed's."""
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
            yield changed(task, f"{SUBMITTED}:{name}", oracle.seed, lambda sent, body=body: _submitting(sent, body))  # type: ignore[misc]


def fields(oracle: Play) -> list[Field]:
    """The fields that the oracle's requests carry, once each; headers of the transport and of lists are none."""
    told: dict[Field, None] = {}
    for sent, _ in oracle.exchanges:
        if not _is_rule(sent):
            continue
        told |= {Field("header", name.lower()): None for name, _ in sent.headers if name.lower() not in LISTS | _TRANSPORTS}
        told |= {Field("query", pair.partition(b"=")[0].decode("latin-1")): None for pair in sent.query.split(b"&") if pair}
        told |= {Field("body", ""): None} if _object(sent.body) else {}
    return list(told)


def twice(task: Task, oracle: Play, field: Field) -> Iterator[Play]:
    """The oracle with one field said twice: the right value first, and the right value last."""
    for order, said in (("first", lambda right, wrong: (right, wrong)), ("last", lambda right, wrong: (wrong, right))):
        name = f"{TWICE}:{field}, the right one {order}"
        yield changed(task, name, oracle.seed, lambda sent, said=said: _said(sent, field, said))  # type: ignore[misc]


def otherwise(task: Task, oracle: Play, field: Field) -> Play:
    """The oracle with one field wrong: who succeeds so has shown that the world does not read it."""
    name = f"{OTHERWISE}:{field}"
    return changed(task, name, oracle.seed, lambda sent: _said(sent, field, lambda right, wrong: (wrong,)))


def left_out(task: Task, oracle: Play, step: str) -> Play:
    """The oracle that sends no request of one method and path, and goes on with the answers that it would have had."""

    def altered(inner: Transport) -> Transport:
        known = iter([answer for sent, answer in oracle.exchanges if _step(sent) == step])
        return lambda request: next(known) if _step(request) == step else inner(request)

    return _named(f"{LEFT_OUT}:{step}", play(task, SOLVE, oracle.seed, altered=altered))


def _step(sent: WireRequest) -> str:
    return f"{sent.method} {sent.path.decode('latin-1')}"


def _named(name: str, played: Play) -> Play:
    played.player = name
    return played


def _submitting(sent: WireRequest, body: bytes) -> WireRequest:
    return sent._replace(body=body) if (sent.method, sent.path) == SUBMISSION else sent


def _said(sent: WireRequest, field: Field, said: Said) -> WireRequest:
    """A request with what is said in the place of the field, where it has it."""
    if not _is_rule(sent):
        return sent
    if field.where == "header":
        pairs = [(n, one) for n, v in sent.headers for one in (said(v, _other(v)) if n.lower() == field.name else (v,))]
        return sent._replace(headers=tuple(pairs))
    if field.where == "query" and sent.query:
        written = [one for pair in sent.query.split(b"&") for one in _pairs(field, pair, said)]
        return sent._replace(target=sent.path + b"?" + b"&".join(written))
    document = _object(sent.body) if field.where == "body" else None
    if not document:
        return sent
    written = [json.dumps(one)[1:-1].encode() for one in said(document, {n: _other(v) for n, v in document.items()})]
    return sent._replace(body=b"{" + b",".join(written) + b"}")


def _is_rule(sent: WireRequest) -> bool:
    """Whether a request is one that a task's own rules judge."""
    return (sent.method, sent.path) != SUBMISSION and not sent.path.startswith(b"/clock")


def _pairs(field: Field, pair: bytes, said: Said) -> tuple[bytes, ...]:
    name, equals, value = pair.partition(b"=")
    return said(pair, name + equals + _other(value)) if name.decode("latin-1") == field.name else (pair,)


def _other(value: Any) -> Any:
    """Another value of the same kind."""
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
