"""What a task's handler receives and gives back: a `Call` in, a `Reply` out, a `Violation` raised.

A handler states the rules of one route and nothing else:
1. it returns a body (dict, list, str, bytes) or a `Reply`; `protocol(...)` is a planned refusal, part of the contract;
2. it raises `Violation` when the caller broke a rule; the caller is told the rule, never the label or the right value;
3. it raises `Unreadable` for a body it cannot parse, which costs time but breaks no contract.
`get`, `post`, `put`, `delete` mark a method of a world as the rule of a route.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from worlds.core.events import Kind
from worlds.core.wire import Headers, WireRequest

Body = bytes | str | Mapping[str, Any] | list[Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Violation(Exception):
    """A broken rule: `label` for the log, `rule` (one clause) for the caller.

    `body` is answered in place of the rule, where the caller is not to notice: what a trap leads to.
    """

    def __init__(
        self,
        label: str,
        rule: str,
        *,
        status: int = 403,
        headers: Headers = (),
        also: str | None = None,
        body: Body | None = None,
        **detail: Any,
    ) -> None:
        super().__init__(rule)
        self.label, self.rule, self.status, self.headers = str(label), rule, status, headers
        self.body: Body = {"error": rule} if body is None else body
        self.also, self.detail = also, detail


class Unreadable(Exception):
    """A body or parameter that cannot be parsed; the message names what was expected of its form."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: body, status, extra headers, and what the request was."""

    body: Body
    status: int = 200
    headers: Headers = ()
    kind: Kind = "ok"
    media_type: str | None = None
    rule: str | None = None

    def encoded(self) -> tuple[bytes, str]:
        """Body bytes and media type; mappings and lists become compact JSON in UTF-8."""
        if isinstance(self.body, bytes):
            return self.body, self.media_type or "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), self.media_type or "text/plain; charset=utf-8"
        text = json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))
        return text.encode(), self.media_type or "application/json"


def protocol(status: int, rule: str, *, body: Mapping[str, Any] | None = None, headers: Headers = ()) -> Reply:
    """A planned refusal that is part of the contract (a challenge, a scripted 503): no violation."""
    return Reply({"error": rule, **(body or {})}, status, headers, "protocol", rule=rule)


@dataclass(slots=True)
class Call:
    """One request as a handler sees it: raw bytes first, decoded views on demand."""

    request: WireRequest
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The request body, raw."""
        return self.request.body

    def header(self, name: str) -> str | None:
        """The value of a header, or None; of one that was sent twice, both joined (RFC 9110 section 5.3)."""
        return self.request.header(name)

    def query(self, name: str) -> str | None:
        """The decoded value of a query parameter (form decoding: + is a space), or None; raises Unreadable for two of them."""
        pairs = parse_qsl(self.request.query.decode("latin-1"), keep_blank_values=True)
        values = [value for key, value in pairs if key == name]
        if len(values) > 1:
            raise Unreadable(f"parameter {name} must be given once")
        return values[0] if values else None

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; raises Unreadable for anything else."""
        value = json_value(self.request.body, "the body must be a JSON object")
        if not isinstance(value, dict):
            raise Unreadable("the body must be a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class Rule:
    """A route as declared: what it costs and, for the app's schema, which parameters it reads."""

    method: str
    path: str
    cost: str
    query: tuple[str, ...]
    headers: tuple[str, ...]
    body: bool


def route(
    method: str,
    path: str,
    *,
    cost: str = "request",
    query: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
    body: bool = False,
) -> Callable[[Handler], Handler]:
    """Mark a method `(self, call) -> Body | Reply` as the rule of `method path`; `cost` is a name from task.toml."""

    def mark(handler: Handler) -> Handler:
        handler.__rule__ = Rule(method, path, cost, query, headers, body)  # type: ignore[attr-defined]
        return handler

    return mark


def get(path: str, **declared: Any) -> Callable[[Handler], Handler]:
    """`route` for GET."""
    return route("GET", path, **declared)


def post(path: str, **declared: Any) -> Callable[[Handler], Handler]:
    """`route` for POST; the body is part of the schema."""
    return route("POST", path, body=True, **declared)


def put(path: str, **declared: Any) -> Callable[[Handler], Handler]:
    """`route` for PUT; the body is part of the schema."""
    return route("PUT", path, body=True, **declared)


def json_value(body: bytes, why: str = "the body must be JSON") -> Any:
    """The value that a body holds as JSON; raises Unreadable, saying why, also for what could not be logged or sent back."""
    try:
        value = json.loads(body, parse_constant=_no_constant, object_pairs_hook=_named_once)
        # an infinite number, or half a surrogate pair
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise Unreadable(why) from None
    return value


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are unique; what another is to mean, readers do not agree on (RFC 8259 section 4)."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
