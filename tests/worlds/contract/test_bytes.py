"""What happened to the bytes of an artifact: classes, presigned targets, anchors."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from urllib.parse import unquote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.anchors import Anchor, draw_anchor, draw_marked, draw_range
from worlds.contract.checks import check_header, check_value
from worlds.contract.labels import Label
from worlds.contract.mangling import classify_mangling, mangled
from worlds.contract.presigned import Presigned, presign
from worlds.core.calls import Call, Violation
from worlds.core.chance import Stream
from worlds.core.wire import WireRequest, request

ISSUED = b"/r/a?x=1&p=%2Fa%2Bb%3D&s=abc"


@pytest.mark.parametrize(
    ("submitted", "label", "kind"),
    [
        (b"/r/a?x=1&p=%2F...", "WRONG_VALUE", "ui_trap"),
        ("/r/a?x=1\u2026".encode(), "WRONG_VALUE", "ui_trap"),
        (b"/r/a?x=1%E2%80%A6", "WRONG_VALUE", "ui_trap"),
        (b"", "MUTATED_TOKEN", "truncated"),
        (ISSUED[:-1], "MUTATED_TOKEN", "truncated"),
        (b"/r/a", "MUTATED_TOKEN", "truncated"),
        (b"/r/a?s=abc&x=1&p=%2Fa%2Bb%3D", "SIGNATURE_MISMATCH", "reordered"),
        (b"/r/a?x=1&p=/a%2Bb%3D&s=abc", "MUTATED_TOKEN", "reencoded"),
        (b"/r/a?x=1&p=%2fa%2Bb%3D&s=abc", "MUTATED_TOKEN", "reencoded"),
        (b"/r/%61?x=1&p=%2Fa%2Bb%3D&s=abc", "MUTATED_TOKEN", "reencoded"),
        (b"/r/a?x=1&p=%2F%0Aa%2Bb%3D&s=abc", "MUTATED_TOKEN", "linewrap"),
        (ISSUED + b"%0a", "MUTATED_TOKEN", "linewrap"),
        (ISSUED + b"&", "MUTATED_TOKEN", "other"),
        (ISSUED + b"&y=2", "MUTATED_TOKEN", "other"),
        (b"/r/a?x=1&p=%252Fa%252Bb%253D&s=abc", "MUTATED_TOKEN", "other"),
        (b"/r/a?s=abc&x=1&p=/a+b=", "MUTATED_TOKEN", "other"),
        (ISSUED.upper(), "MUTATED_TOKEN", "other"),
    ],
)
def test_classes(submitted: bytes, label: str, kind: str) -> None:
    """Each way of going wrong has one class and one label."""
    assert (label, kind) == classify_mangling(ISSUED, submitted)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_only_equal_bytes_pass(expected: bytes, submitted: bytes) -> None:
    """There is no class exactly when nothing differs."""
    assert (expected == submitted) is (classify_mangling(expected, submitted) is None)


def test_ellipsis_that_was_issued_is_no_trap() -> None:
    """Dots that belong to the artifact are bytes like others."""
    assert classify_mangling(b"a...b", b"a...c") == (Label.MUTATED_TOKEN, "other")


def test_mangled_tells_where() -> None:
    """The violation names resource, class and the first byte that differs."""
    broken = mangled("r", ISSUED, b"/r/b", "the link is wrong")

    assert broken is not None
    assert {"resource_id": "r", "class": "other", "offset_of_first_difference": 3} == broken.detail
    assert mangled("r", ISSUED, ISSUED, "the link is wrong") is None


LINK = presign(Stream("k", "t", 0, "link"), "file", issued_at=1000, ttl_ms=2000, expires_text="2", payload_bytes=512)


def judged(target: bytes, now: int) -> tuple[str, str | None, str | None]:
    """Label, second label and class of a request at `now`, or SUCCESS."""
    try:
        LINK.check(WireRequest("GET", target), now)
    except Violation as broken:
        return broken.label, broken.also, broken.detail.get("class")
    return "SUCCESS", None, None


def test_presigned_form() -> None:
    """Path, then nonce, expires, payload and sig in that order, + / = of the payload percent-encoded."""
    found = re.fullmatch(
        r"/api/resource/file\?nonce=([0-9a-f]{24})&expires=2&payload=([^&+/=]+)&sig=([\w-]{43})", LINK.target.decode()
    )

    assert found
    assert len(base64.b64decode(unquote(found[2]), validate=True)) == 512
    assert all(escape in found[2] for escape in ("%2B", "%2F", "%3D"))


def test_presigned_signature_covers_all_before_it() -> None:
    """The signature is HMAC-SHA256 over the raw target up to &sig=, with a key drawn after it."""
    stream = Stream("k", "t", 0, "link")
    stream.base64(512), stream.hex(24)
    unsigned, _, signature = LINK.target.partition(b"&sig=")
    mac = hmac.new(stream.bytes(32), unsigned, hashlib.sha256).digest()

    assert base64.urlsafe_b64encode(mac).rstrip(b"=") == signature


def test_presigned_round_trip_through_a_client() -> None:
    """A target sent as issued passes, in its window only."""
    sent = request("GET", LINK.target.decode()).target

    assert [
        ("EXPIRED_BEFORE_USE", None, None),
        ("SUCCESS", None, None),
        ("SUCCESS", None, None),
        ("EXPIRED_BEFORE_USE", None, None),
    ] == [judged(sent, now) for now in (999, 1000, 2999, 3000)]


PATH, _, QUERY = LINK.target.partition(b"?")
WAYS = {
    "ui_trap": (LINK.target[:80] + b"...", "WRONG_VALUE"),
    "truncated": (LINK.target[:200], "MUTATED_TOKEN"),
    "reordered": (PATH + b"?" + b"&".join(reversed(QUERY.split(b"&"))), "SIGNATURE_MISMATCH"),
    "reencoded": (LINK.target.replace(b"%2F", b"/"), "MUTATED_TOKEN"),
    "linewrap": (LINK.target[:76] + b"%0A" + LINK.target[76:], "MUTATED_TOKEN"),
    "other": (LINK.target + b"x", "MUTATED_TOKEN"),
}


@pytest.mark.parametrize("way", WAYS)
def test_presigned_in_time_with_wrong_bytes(way: str) -> None:
    """In its window a wrong target has its class and label."""
    target, label = WAYS[way]

    assert (label, None, way) == judged(target, 1500)


@pytest.mark.parametrize("way", WAYS)
def test_presigned_late_with_wrong_bytes(way: str) -> None:
    """Too late and wrong is an expiry that names the other failure."""
    target, label = WAYS[way]

    assert ("EXPIRED_BEFORE_USE", label, None) == judged(target, 3000)


@given(st.integers(0, len(LINK.target) - 1), st.integers(0x21, 0x7E))
def test_presigned_any_altered_byte(place: int, byte: int) -> None:
    """Whichever visible byte changes, the link no longer stands for the resource."""
    altered = LINK.target[:place] + bytes([byte]) + LINK.target[place + 1 :]

    assert (altered == LINK.target) is (judged(altered, 1500)[0] == "SUCCESS")


def test_presigned_again_from_a_fresh_stream() -> None:
    """A stream always gives the same link, whenever it is issued."""
    again = presign(Stream("k", "t", 0, "link"), "file", issued_at=9, ttl_ms=5, expires_text="2", payload_bytes=512)

    assert isinstance(again, Presigned)
    assert (LINK.target, 14) == (again.target, again.contract.expires_at)


ANCHOR = Anchor("0123456789abcdef")


@pytest.mark.parametrize(("first", "last", "text"), [(1, 1, "0"), (1, 16, ANCHOR.text), (16, 16, "f"), (2, 4, "123")])
def test_anchor_range(first: int, last: int, text: str) -> None:
    """Ranges count from 1 and include both ends."""
    assert text == ANCHOR.chars(first, last)


@pytest.mark.parametrize(("first", "last"), [(0, 3), (4, 3), (1, 17), (-1, 2)])
def test_anchor_range_outside(first: int, last: int) -> None:
    """A range outside the string is refused."""
    with pytest.raises(ValueError, match=rf"^range must lie in 1..16, not {first}..{last}$"):
        ANCHOR.chars(first, last)


@pytest.mark.parametrize(("text", "marker", "times"), [("aXbXc", "X", 2), ("abc", "X", 0), ("aXXXb", "XX", 2)])
def test_marker_must_be_unique(text: str, marker: str, times: int) -> None:
    """A marker occurs exactly once, overlapping occurrences counted."""
    with pytest.raises(ValueError, match=rf"^marker must occur exactly once, not {times} times$"):
        Anchor(text).after(marker)


@given(st.integers(0, 200))
def test_drawn_marker_leaves_room(seed: int) -> None:
    """A drawn marker is found in its anchor, with a whole slice after it."""
    anchor, marker = draw_marked(Stream("k", "t", seed, "anchor"), length=60)

    assert re.fullmatch("[0-9a-f]{24}", anchor.after(marker))


@pytest.mark.property
@given(st.integers(0, 200))
def test_drawn_range_is_a_slice(seed: int) -> None:
    """A drawn range holds 24 characters of the anchor."""
    stream = Stream("k", "t", seed, "range")
    anchor = draw_anchor(stream, length=30)

    assert len(anchor.chars(*draw_range(stream, anchor))) == 24


def test_every_range_and_marker_that_fits_is_drawn() -> None:
    """From the first character to the last place where a whole slice fits, and none beyond."""
    stream = Stream("k", "t", 0, "anchor")
    ranges = {draw_range(stream, draw_anchor(stream, length=27)) for _ in range(60)}
    marked = [draw_marked(stream, length=32) for _ in range(60)]

    assert ranges == {(1, 24), (2, 25), (3, 26), (4, 27)}
    assert {anchor.text.index(marker) for anchor, marker in marked} == {0, 1, 2}


@pytest.mark.parametrize(
    ("value", "label", "rule"),
    [
        (None, "MISSING_CONSTRAINT", "X is missing"),
        ("", "MISSING_CONSTRAINT", "X is missing"),
        ("wrong", "WRONG_VALUE", "X holds the wrong value"),
        (5, "WRONG_VALUE", "X holds the wrong value"),
        (["right"], "WRONG_VALUE", "X holds the wrong value"),
        ("\ud800", "WRONG_VALUE", "X holds the wrong value"),
    ],
)
def test_check_value(value: object, label: str, rule: str) -> None:
    """An absent value is a missing constraint, any other but the right one a wrong value."""
    with pytest.raises(Violation) as broken:
        check_value(value, "right", "X")

    assert (label, rule, {"field": "X"}) == (broken.value.label, broken.value.rule, broken.value.detail)


def test_check_header_right() -> None:
    """The right header passes."""
    check_header(Call(WireRequest("GET", b"/", (("x-seed-anchor", "right"),))), "X-Seed-Anchor", "right")


def test_decoding_is_what_clients_do() -> None:
    """The class reencoded rests on plain percent-decoding."""
    assert unquote_to_bytes(ISSUED) == b"/r/a?x=1&p=/a+b=&s=abc"
