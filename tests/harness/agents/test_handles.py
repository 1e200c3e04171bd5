"""Value handles: a value is stored once, and its name stands for exactly its bytes."""

from __future__ import annotations

import pytest

from harness.agents.handles import HandleStore, NotFound, resolving
from worlds.core.errors import WireError
from worlds.core.wire import WireRequest, WireResponse, request

PAGE = WireResponse(200, (("ETag", '"x/1"'),), b'<a id="download" href="/a?x=1&amp;y=%2F">get</a>')
DOCUMENT = WireResponse(200, (), '{"links":[{"url":"/l?ä"}],"a/b":7}'.encode())


@pytest.fixture
def store() -> HandleStore:
    """A store that has seen a page."""
    return HandleStore("The code is ABC123.", PAGE)


@pytest.mark.parametrize(
    ("last", "how", "where", "value"),
    [
        (PAGE, "link", "download", b"/a?x=1&y=%2F"),
        (PAGE, "header", "etag", b'"x/1"'),
        (PAGE, "pattern", 'href="([^"]+)"', b"/a?x=1&amp;y=%2F"),
        (DOCUMENT, "pointer", "/links/0/url", "/l?ä".encode()),
        (DOCUMENT, "pointer", "/a~1b", b"7"),
        (DOCUMENT, "pointer", "a/b", b"7"),
    ],
)
def test_take(store: HandleStore, last: WireResponse, how: str, where: str, value: bytes) -> None:
    """A value is found by pointer, header, link or pattern, and taken as it is."""
    store.last = last

    assert store.take(how, where) == value


@pytest.mark.parametrize(
    ("how", "where"),
    [("link", "upload"), ("header", "X"), ("pattern", "nothing(.)"), ("pattern", "href"), ("pattern", "("), ("pointer", "/x")],
)
def test_take_what_is_not_there(store: HandleStore, how: str, where: str) -> None:
    """What is not there is said to be missing; nothing is guessed."""
    with pytest.raises(NotFound):
        store.take(how, where)


def test_take_before_any_response() -> None:
    """Before the first answer there is only the instruction to take from."""
    store = HandleStore("The code is ABC123.")

    assert store.take("pattern", r"code is (\w+)", instruction=True) == b"ABC123"
    with pytest.raises(NotFound, match="no response yet"):
        store.take("header", "etag")


def test_handles_stand_anywhere(store: HandleStore) -> None:
    """In target, header values and body, whole or beside other text, a handle becomes its value's bytes."""
    store.store("a", b"/file?p=%2B")
    store.store("b", "ü+".encode())
    made = request("POST", "/@HANDLE:a", headers={"X": "x @HANDLE:a"}, body="@HANDLE:b@HANDLE:b")
    sent = store.resolve(made)

    assert (sent.target, sent.headers, sent.body) == (b"/file?p=%2B", (("X", "x /file?p=%2B"),), "ü+ü+".encode())


def test_whole_address_is_stored_and_sent_as_a_target(store: HandleStore) -> None:
    """A full URL of the service works as a target."""
    store.store("url", b"http://api:8080/a?b=1")

    assert store.resolve(request("GET", "/@HANDLE:url")).target == b"/a?b=1"


def test_handle_inside_a_path(store: HandleStore) -> None:
    """A handle that follows other text is replaced where it stands."""
    store.store("id", b"/7")

    assert store.resolve(request("GET", "/items@HANDLE:id?x")).target == b"/items/7?x"


def test_unknown_handle(store: HandleStore) -> None:
    """A name that was never stored is refused, and nothing is sent."""
    with pytest.raises(WireError, match="@HANDLE:nope"):
        store.resolve(request("GET", "/@HANDLE:nope"))


@pytest.mark.parametrize("name", ["", "a b", "x" * 41, "a-b", "ä"])
def test_bad_name(store: HandleStore, name: str) -> None:
    """A name that could not be found again in a text is refused."""
    with pytest.raises(NotFound, match="a name is"):
        store.store(name, b"v")


def test_answers_become_what_the_next_value_is_taken_from() -> None:
    """The transport remembers the last answer as the world gave it."""
    store = HandleStore()
    resolving(lambda made: PAGE, store)(WireRequest("GET", b"/"))

    assert store.take("link", "download") == b"/a?x=1&y=%2F"
