"""Calls, replies and rules: what a handler sees and says."""

from __future__ import annotations

from typing import Any

import pytest

from worlds.core.calls import Call, Reply, Unreadable, Violation, get, json_value, post, protocol, put
from worlds.core.wire import WireRequest


def call(target: bytes = b"/", body: bytes = b"") -> Call:
    """A call as the app would make it."""
    return Call(WireRequest("GET", target, (("X-A", "1"),), body))


@pytest.mark.parametrize(
    ("query", "value"),
    [
        (b"a=1", "1"),
        (b"a=%2B+%20", "+  "),
        (b"a=", ""),
        (b"a", ""),
        (b"b=1", None),
        (b"", None),
        (b"a=%C3%A9", "é"),
    ],
)
def test_query(query: bytes, value: str | None) -> None:
    """A query parameter is form-decoded, an empty one is there."""
    assert value == call(b"/?" + query).query("a")


def test_a_parameter_given_twice() -> None:
    """It is unreadable, whichever of the two was meant; another one beside it may be read."""
    made = call(b"/?a=1&b=2&a=1")

    assert made.query("b") == "2"
    with pytest.raises(Unreadable, match="parameter a must be given once"):
        made.query("a")


@pytest.mark.parametrize("body", [b'{"a": 1, "a": 2}', b'[{"b": {"a": 1, "a": 1}}]'])
def test_a_name_given_twice_in_json(body: bytes) -> None:
    """An object whose names are not unique is unreadable, at any depth (RFC 8259 section 4)."""
    with pytest.raises(Unreadable, match="the body must be JSON"):
        json_value(body)


def test_header() -> None:
    """Headers are found without case."""
    assert ("1", None) == (call().header("x-a"), call().header("x-b"))


def test_json_object() -> None:
    """A JSON object is read."""
    assert call(body=b'{"a":[1,"\\u00fc"]}').json() == {"a": [1, "ü"]}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"1",
        b"nul",
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":-Infinity}',
        b'{"a":"\\ud800"}',
        b"\xff",
        b"[" * 100_000,
        b'{"a":',
    ],
    ids=["empty", "list", "number", "typo", "nan", "overflow", "infinity", "surrogate", "bytes", "deep", "cut"],
)
def test_no_json_object(body: bytes) -> None:
    """Anything that is no finite, well-formed JSON object is unreadable, and nothing else is raised."""
    with pytest.raises(Unreadable, match=r"^the body must be a JSON object$"):
        call(body=body).json()


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b"\x00", (b"\x00", "application/octet-stream")),
        ("é", ("é".encode(), "text/plain; charset=utf-8")),
        ({"é": 1}, ('{"é":1}'.encode(), "application/json")),
        ([1, 2], (b"[1,2]", "application/json")),
    ],
)
def test_reply_encodings(body: Any, sent: tuple[bytes, str]) -> None:
    """Bytes, text and JSON each have their media type."""
    assert sent == Reply(body).encoded()


def test_own_media_type() -> None:
    """A reply may name its own."""
    assert Reply("<p>", media_type="text/html").encoded() == (b"<p>", "text/html")


def test_protocol() -> None:
    """A planned refusal tells its rule and carries what it must."""
    reply = protocol(503, "closed for now", body={"until": 5}, headers=(("Retry-After", "5"),))

    assert (
        Reply({"error": "closed for now", "until": 5}, 503, (("Retry-After", "5"),), "protocol", rule="closed for now") == reply
    )


def test_violation_carries_its_parts() -> None:
    """Label, rule, status, headers, second label and details stay apart."""
    broken = Violation("RATE_LIMITED", "too many", status=429, headers=(("Retry-After", "1"),), also="OTHER", limit=3)

    assert ("RATE_LIMITED", 429, (("Retry-After", "1"),), "OTHER", {"limit": 3}, "too many") == (
        broken.label, broken.status, broken.headers, broken.also, broken.detail, str(broken),
    )  # fmt: skip


@pytest.mark.parametrize(("mark", "method", "body"), [(get, "GET", False), (post, "POST", True), (put, "PUT", True)])
def test_marks(mark: Any, method: str, body: bool) -> None:
    """Each mark declares its method; POST and PUT have bodies."""
    rule = mark("/a", cost="c", query=("q",))(lambda self, call: "").__rule__

    assert (method, "/a", "c", ("q",), body) == (rule.method, rule.path, rule.cost, rule.query, rule.body)
