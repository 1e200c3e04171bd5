"""Interface of a task's handlers: a handler receives a `Call`, returns a `Reply` and raises a `Violation`.

A handler implements the rules of one route only:
1. It returns a body (dict, list, str, bytes) or a `Reply`. `protocol(...)` is a planned refusal, which is part of the contract.
2. It raises `Violation` if the caller broke a rule. The caller sees the rule, never the label or the correct value.
3. It raises `Unreadable` for a body that it cannot parse, which costs time but breaks no contract.
`get`, `post` and `put` mark a method of a world as the rule of a route.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from worlds.core.events import Kind
from worlds.core.wire import Headers, WireRequest

Body = bytes | str | Mapping[str, Any] | list[Any]
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Violation(Exception):
    """A broken rule: `label` goes to the log, `rule` (one clause) to the caller.

    `body` replaces the rule in the response if the caller must not notice the violation, for example behind a trap.
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
    """A body or parameter that cannot be parsed; the message states the expected form."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: body, status, extra headers, and how the request was judged."""

    body: Body
    status: int = 200
    headers: Headers = ()
    kind: Kind = "ok"
    media_type: str | None = None
    rule: str | None = None

    def encoded(self) -> tuple[bytes, str]:
        """Return the body bytes and the media type; mappings and lists become compact JSON in UTF-8."""
        if isinstance(self.body, bytes):
            return self.body, self.media_type or "application/octet-stream"
        if isinstance(self.body, str):
            return self.body.encode(), self.media_type or "text/plain; charset=utf-8"
        text = json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))
        return text.encode(), self.media_type or "application/json"


def protocol(status: int, rule: str, *, body: Mapping[str, Any] | None = None, headers: Headers = ()) -> Reply:
    """Return a planned refusal that is part of the contract (a challenge, a scripted 503) and no violation."""
    return Reply({"error": rule, **(body or {})}, status, headers, "protocol", rule=rule)


@dataclass(slots=True)
class Call:
    """One request as a handler sees it: raw bytes, and decoded views on demand."""

    request: WireRequest
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The raw request body."""
        return self.request.body

    def header(self, name: str) -> str | None:
        """Return the value of a header, or None; the values of a repeated header are joined (RFC 9110 section 5.3)."""
        return self.request.header(name)

    def query(self, name: str) -> str | None:
        """Return the decoded value of a query parameter (form decoding: + is a space), or None.

        Raises Unreadable if the parameter is repeated.
        """
        pairs = parse_qsl(self.request.query.decode("latin-1"), keep_blank_values=True)
        values = [value for key, value in pairs if key == name]
        if len(values) > 1:
            raise Unreadable(f"parameter {name} must be given once")
        return values[0] if values else None

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object; raises Unreadable for anything else."""
        value = json_value(self.request.body, "the body must be a JSON object")
        if not isinstance(value, dict):
            raise Unreadable("the body must be a JSON object")
        return value


@dataclass(frozen=True, slots=True)
class Rule:
    """A declared route: its cost and, for the app's OpenAPI schema, the parameters that it reads."""

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


get = partial(route, "GET")
post = partial(route, "POST", body=True)
put = partial(route, "PUT", body=True)
"""Mark a method as the rule of a path; see `route`. The body of POST and PUT is part of the schema."""


def json_value(body: bytes, why: str = "the body must be JSON") -> Any:
    """Parse a body as JSON; raises Unreadable with `why` if it is invalid or holds a value that cannot be logged or sent."""
    try:
        value = json.loads(body, parse_constant=_no_constant, object_pairs_hook=_named_once)
        # an infinite number, or half a surrogate pair
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise Unreadable(why) from None
    return value


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from its pairs; raises ValueError for duplicate names, which parsers treat differently (RFC 8259, 4)."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
