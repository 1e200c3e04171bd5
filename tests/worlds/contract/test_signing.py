"""The canonical form of a request: a vendor's own example, and what must and must not change it."""

from __future__ import annotations

import hashlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.signing import (
    Authorization,
    canonical_parameters,
    canonical_query,
    canonical_request,
    read_authorization,
    signed_list,
)
from worlds.core.wire import WireRequest, request

NAMES = ("X-Note-Zone", "X-Note")
HEADERS = {"X-Note": "a  b   c", "x-note-zone": "d", "X-Other": "e"}
SENT = request("PUT", "/a%20b/~?item=1&item-id=2&q=%2F+&flag", headers=HEADERS, body="ü\n")


def test_example_of_signature_version_4() -> None:
    """Where the rules are those of AWS, so is the text: their published example has this digest."""
    headers = (
        ("Host", "iam.amazonaws.com"),
        ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("X-Amz-Date", "20150830T123600Z"),
    )
    made = WireRequest("GET", b"/?Action=ListUsers&Version=2010-05-08", headers)
    text = canonical_request(made, [name for name, _ in headers])

    assert hashlib.sha256(text.encode()).hexdigest() == "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"


def test_lines() -> None:
    """Every line of the form, in its order."""
    assert canonical_request(SENT, NAMES).split("\n") == [
        "PUT",
        "/a%20b/~",
        "flag=&item=1&item-id=2&q=%2F%2B",
        "x-note:a b c",
        "x-note-zone:d",
        "",
        "x-note;x-note-zone",
        hashlib.sha256("ü\n".encode()).hexdigest(),
    ]


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        (b"", ""),
        (b"&&", ""),
        (b"flag", "flag="),
        (b"=v", "=v"),
        (b"a=b=c", "a=b%3Dc"),
        (b"a=%7e%2d", "a=~-"),
        (b"a=+%20", "a=%2B%20"),
        (b"a=%C3%A9&a=z", "a=%C3%A9&a=z"),
        (b"b=1&B=1&a=2&a=1", "B=1&a=1&a=2&b=1"),
        (b"item-id=1&item=2", "item=2&item-id=1"),
        (b"a=%zz%", "a=%25zz%25"),
    ],
)
def test_queries(raw: bytes, canonical: str) -> None:
    """Decoded, encoded strictly, sorted by name and value as encoded."""
    assert canonical == canonical_query(raw)


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=5), st.randoms())
def test_order_and_escaping_do_not_matter(pairs: list[tuple[str, str]], chance: Random) -> None:
    """A query in any order, with everything escaped that can be, has the form of its decoded parameters."""
    escaped = ["=".join("".join(f"%{byte:02x}" for byte in part.encode()) for part in pair) for pair in pairs]
    chance.shuffle(escaped)

    # a parameter without name and value is written as =, so that it can be told from none
    assert canonical_parameters(pairs) == canonical_query("&".join(escaped).encode())


@given(st.sampled_from(["method", "path", "query", "header", "body"]))
def test_everything_is_covered(part: str) -> None:
    """No part of the request can change without the form changing."""
    changed = {
        "method": request("POST", SENT.target, headers=SENT.headers, body=SENT.body),
        "path": request("PUT", SENT.target.replace(b"%20", b"%2520"), headers=SENT.headers, body=SENT.body),
        "query": request("PUT", SENT.target + b"&x", headers=SENT.headers, body=SENT.body),
        "header": SENT.with_header("X-Note", "again"),
        "body": request("PUT", SENT.target, headers=SENT.headers, body=b"u"),
    }[part]

    assert canonical_request(SENT, NAMES) != canonical_request(changed, NAMES)


def test_what_is_not_signed_does_not_matter() -> None:
    """Other headers, letter case of names, and the way a query is written leave the form as it is."""
    other = request(
        "PUT", "/a%20b/~?flag=&q=%2f%2B&item-id=2&it%65m=1",
        headers={"X-NOTE": "a b  c", "X-Note-Zone": "d"}, body="ü\n",
    )  # fmt: skip

    assert canonical_request(SENT, NAMES) == canonical_request(other, reversed(NAMES))


def test_names() -> None:
    """Sorted by name, so that a name comes before one that it begins."""
    assert signed_list(["X-Note-Zone", "X-Note", "Content-Type"]) == "content-type;x-note;x-note-zone"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PARLEY-HMAC-SHA256 KeyId=k, SignedHeaders=a;b, Signature=0f", Authorization("k", "a;b", "0f")),
        ("PARLEY-HMAC-SHA256 KeyId=k,SignedHeaders=a;b,  Signature=0f", Authorization("k", "a;b", "0f")),
        ("PARLEY-HMAC-SHA256 KeyId=k, Signature=0f, SignedHeaders=a;b", None),
        ("PARLEY-HMAC-SHA256 KeyId=, SignedHeaders=a;b, Signature=0f", None),
        ("AWS4-HMAC-SHA256 KeyId=k, SignedHeaders=a;b, Signature=0f", None),
        ("Bearer x", None),
        ("", None),
        (None, None),
    ],
)
def test_authorization(text: str | None, found: Authorization | None) -> None:
    """The three parts in their order; spaces after a comma do not matter."""
    assert found == read_authorization(text)


def test_encoding_is_that_of_the_rfc() -> None:
    """Exactly the unreserved characters stay (RFC 3986 section 2.3)."""
    characters = [chr(code) for code in range(128)]
    unreserved = {character for character in characters if canonical_parameters([(character, "")]) == f"{character}="}

    assert unreserved == set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
