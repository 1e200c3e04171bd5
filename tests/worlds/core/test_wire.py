"""The raw wire: what may be sent, and that nothing changes on the way through the bridge's lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.core.errors import WireError
from worlds.core.wire import (
    MAX_HEAD_BYTES,
    WireRequest,
    WireResponse,
    check_sendable,
    from_json,
    request,
    response_from_json,
    response_to_json,
    to_json,
)

NAMES = st.text("abcXYZ-_09", min_size=1, max_size=12)
VALUES = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f", exclude_categories=["Cc"]))
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=5).map(tuple)
TARGETS = st.binary(max_size=60).map(lambda raw: b"/" + bytes(0x21 + byte % 94 for byte in raw).replace(b"#", b"!"))
REQUESTS = st.builds(WireRequest, st.sampled_from(("GET", "POST", "M-SEARCH")), TARGETS, HEADERS, st.binary(max_size=50))


@pytest.mark.parametrize(
    "target", ["/", "//", "/a?b", "/a?", "/%2f%2F", "/a;b&&c=", '/"<>\\^`{|}~', "/a/../b", "/?" + "x" * 40_000]
)
def test_sendable_targets(target: str) -> None:
    """Visible ASCII after a slash goes through, in any form that a URL object would tidy up."""
    assert target.encode() == request("GET", target).target


@pytest.mark.parametrize("target", ["", "a", "*", "http://api/", "/a b", "/a\n", "/a\tb", "/\x7f", "/\x00"])
def test_unsendable_targets(target: str) -> None:
    """A space, a control character or a form without a slash in front is refused."""
    rule = "target must start with / and hold only visible ASCII (no space, newline or non-ASCII byte)"

    with pytest.raises(WireError) as refused:
        request("GET", target)

    assert rule == str(refused.value)


def test_fragment_refused() -> None:
    """A fragment never leaves a client."""
    with pytest.raises(WireError, match=r"^target must not hold #, which no client sends$"):
        request("GET", "/a#b")


def test_non_ascii_target_refused() -> None:
    """Text beyond ASCII must be percent-encoded by the caller."""
    with pytest.raises(WireError, match=r"^target must be ASCII; percent-encode other characters$"):
        request("GET", "/é")


@pytest.mark.parametrize("method", ["", "GE T", "GET\n", "GÉT", "GET:"])
def test_method_must_be_a_token(method: str) -> None:
    """A method is an HTTP token."""
    with pytest.raises(WireError, match=r"^method must be an HTTP token, not "):
        request(method, "/")


@pytest.mark.parametrize("name", ["", "a b", "a:", "é", "a\r\nb"])
def test_header_name_must_be_a_token(name: str) -> None:
    """So is a header's name."""
    with pytest.raises(WireError, match=r"^header name must be an HTTP token, not "):
        request("GET", "/", headers={name: "x"})


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Upgrade", "Expect"])
def test_framing_belongs_to_the_transport(name: str) -> None:
    """An agent cannot frame messages its own way."""
    with pytest.raises(WireError, match=rf"^header {name} belongs to the transport, leave it out$"):
        request("GET", "/", headers={name: "x"})


@pytest.mark.parametrize("value", [" a", "a ", "\ta", "a\r\nX: y", "a\nb", "\x00", "\x7f", "\u20ac"])
def test_header_value_refused(value: str) -> None:
    """A value holds no control character, no outer space, nothing beyond Latin-1."""
    with pytest.raises(WireError, match=r"^header A holds a character that no client sends, or outer space$"):
        request("GET", "/", headers={"A": value})


@pytest.mark.parametrize("value", ["", "a b", "a\tb", "é\xff", 'a,b;c="d"'])
def test_header_value_sendable(value: str) -> None:
    """Empty, inner space, and Latin-1 go through."""
    assert value == request("GET", "/", headers=[("A", value)]).header("a")


@pytest.mark.parametrize(("length", "fits"), [(MAX_HEAD_BYTES - 3, True), (MAX_HEAD_BYTES - 2, False)])
def test_head_limit(length: int, fits: bool) -> None:
    """Request line and headers end at their limit, to the byte."""
    made = WireRequest("GET", b"/" * length)
    if fits:
        check_sendable(made)
        return
    with pytest.raises(
        WireError, match=rf"^request line and headers take {MAX_HEAD_BYTES + 1} bytes, more than {MAX_HEAD_BYTES}$"
    ):
        check_sendable(made)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [(b"/a", b"/a", b""), (b"/a?", b"/a", b""), (b"/a?b?c", b"/a", b"b?c"), (b"/?%3F", b"/", b"%3F"), (b"//?&&", b"//", b"&&")],
)
def test_path_and_query_are_raw(target: bytes, path: bytes, query: bytes) -> None:
    """The target is cut at its first question mark and nowhere else."""
    made = WireRequest("GET", target)

    assert (path, query) == (made.path, made.query)


def test_a_header_sent_twice_is_one_value() -> None:
    """Headers are found by any case; several of one name are joined (RFC 9110 section 5.3), cookies as cookies are."""
    made = request("GET", "/", headers=[("A", "1"), ("a", "2"), ("Cookie", "x=1"), ("cookie", "y=2")]).with_header("B", "3")

    assert made.header("Cookie") == "x=1; y=2"
    assert ("1, 2", "3", None) == (made.header("a"), made.header("b"), made.header("c"))


@given(REQUESTS)
def test_request_survives_a_bridge_line(made: WireRequest) -> None:
    """JSON and back is the same request."""
    check_sendable(made)

    assert made == from_json(json.loads(json.dumps(to_json(made))))


@given(st.builds(WireResponse, st.integers(100, 599), HEADERS, st.binary(max_size=50)))
def test_response_survives_a_bridge_line(answer: WireResponse) -> None:
    """JSON and back is the same response."""
    assert answer == response_from_json(json.loads(json.dumps(response_to_json(answer))))
