"""Cookies: what a jar sends back is what was set, and what is no cookie-string is not read."""

from __future__ import annotations

import httpx
import pytest

from worlds.contract.cookies import cookie_pairs, path_matches, set_cookie
from worlds.core.calls import Call, Unreadable
from worlds.core.wire import WireRequest, request


def call(*cookies: str) -> Call:
    """A request with these Cookie headers."""
    return Call(request("GET", "/x", headers=[("Cookie", text) for text in cookies]))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1", [("a", "1")]),
        ("a=1; b=2; a=3", [("a", "1"), ("b", "2"), ("a", "3")]),
        ('a="1=2"; b=/+==', [("a", '"1=2"'), ("b", "/+==")]),
        ("a=1; HttpOnly", [("a", "1"), ("", "HttpOnly")]),
        ("a=; =b", [("a", ""), ("", "b")]),
        ("a=1,b=2", [("a", "1,b=2")]),
        ("A=1;  b=2", [("A", "1"), (" b", "2")]),
    ],
)
def test_cookie_string(text: str, pairs: list[tuple[str, str]]) -> None:
    """Pairs in order, values from the first equals sign on, nothing unquoted, trimmed or merged."""
    assert pairs == cookie_pairs(call(text))


def test_no_cookies() -> None:
    """A request without the header has none."""
    assert [] == cookie_pairs(call())


@pytest.mark.parametrize("text", ["a=1;b=2", "a=1;", "a=1; ", "; a=1", "a=1; ; b=2", ";", ""])
def test_no_cookie_string(text: str) -> None:
    """What is not joined by a semicolon and one space, or holds an empty pair, is unreadable."""
    with pytest.raises(Unreadable, match=r"^the Cookie header must be a cookie-string: "):
        cookie_pairs(Call(WireRequest("GET", b"/x", (("Cookie", text),))))


def test_one_header() -> None:
    """A user agent sends one Cookie header."""
    with pytest.raises(Unreadable, match=r"^a request must carry one Cookie header \(RFC 6265bis section 5\.8\.1\)$"):
        cookie_pairs(call("a=1", "b=2"))


@pytest.mark.parametrize(
    ("path", "cookie_path", "matches"),
    [
        ("/a/b", "/", True),
        ("/a/b", "/a", True),
        ("/a/b", "/a/", True),
        ("/a/b", "/a/b", True),
        ("/a", "/a/", False),
        ("/a/bc", "/a/b", False),
        ("/A/b", "/a", False),
        ("/", "/a", False),
    ],
)
def test_path_match(path: str, cookie_path: str, *, matches: bool) -> None:
    """A prefix counts where it ends at a slash."""
    assert matches is path_matches(path, cookie_path)


def test_a_standard_jar_returns_what_was_set() -> None:
    """The jar of Python's standard library, as httpx uses it, keeps bytes, quotes and paths, and follows a replacement."""
    given = {"s": "ab.c+/==", "q": '"x=/y"'}
    sent: list[str] = []

    def answer(made: httpx.Request) -> httpx.Response:
        sent.append(made.headers.get("Cookie", ""))
        first = [set_cookie(name, value) for name, value in given.items()] + [set_cookie("p", "1", "/deep/er")]
        return httpx.Response(200, headers=first if len(sent) == 1 else [set_cookie("s", "new")])

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://api:8080") as api:
        for path in ("/start", "/deep/er/x", "/deep", "/deeper"):
            api.get(path)
    read = [sorted(cookie_pairs(call(text))) for text in sent[1:]]

    assert [("p", "1"), ("q", '"x=/y"'), ("s", "ab.c+/==")] == read[0]
    assert [[("q", '"x=/y"'), ("s", "new")]] * 2 == read[1:]
