"""Readings: pages in a row, each counted once, however often it is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.checks import sha256_hex
from worlds.contract.readings import Reading
from worlds.core.calls import Violation
from worlds.core.chance import Stream

EVENTS = [{"seq": seq, "id": f"{seq:x}"} for seq in (2, 3, 5, 8, 9, 12, 13)]


def reading(most: int = 5) -> Reading:
    """A fresh one."""
    return Reading(Stream("key", "task", 0, "pages"), "start", most)


def read(one: Reading, limit: int, times: int = 1) -> list[int]:
    """Read to the end, each page so many times; the sequence numbers seen, once each."""
    seen: list[int] = []
    while not one.done:
        token, after = one.token, seen[-1] if seen else 0
        pages = []
        for _ in range(times):
            one.check(token, after, limit)
            pages.append(one.page(EVENTS, token, after, limit))
        assert all(page is pages[0] for page in pages)
        assert pages[0]["page_token"] == (one.token or None)
        seen += [event["seq"] for event in pages[0]["events"]]
    return seen


@given(st.integers(1, 5), st.integers(1, 3))
def test_all_is_read_once(limit: int, times: int) -> None:
    """Whatever the page size, and however often a page is asked for, each event is seen and each digest counts once."""
    one, other = reading(), reading()

    assert [event["seq"] for event in EVENTS] == read(one, limit, times) == read(other, limit)
    assert one.chain == other.chain


def test_chain() -> None:
    """The digests of the pages, folded from the start on."""
    one = reading()
    first = one.page(EVENTS, one.token, 0, 4)
    second = one.page(EVENTS, one.token, 8, 4)

    assert one.chain == sha256_hex(sha256_hex("start", first["page_digest"]), second["page_digest"])
    assert one.done


def test_an_empty_stream_has_one_page() -> None:
    """It holds nothing, and the reading is done."""
    one = reading()

    assert one.page([], one.token, 0, 5)["events"] == []
    assert (one.done, one.place) == (True, 0)


def refused(one: Reading, token: str, after: int, limit: int) -> str:
    """The label of a refusal."""
    with pytest.raises(Violation) as caught:
        one.check(token, after, limit)
    return caught.value.label


def test_refusals() -> None:
    """Each way of losing the thread has its label."""
    one = reading()
    first = one.token
    one.page(EVENTS, first, 0, 3)

    assert refused(one, first, 0, 2) == "VERSION_CONFLICT"
    assert refused(one, first, 5, 3) == "VERSION_CONFLICT"
    assert refused(one, one.token, 3, 3) == "VERSION_CONFLICT"
    assert refused(one, one.token, 5, 6) == "WRONG_VALUE"
    assert refused(one, one.token, 5, 0) == "WRONG_VALUE"
    assert refused(one, one.token[:-1], 5, 3) == "MUTATED_TOKEN"
    assert refused(one, "\xff", 5, 3) == "MUTATED_TOKEN"


def test_after_the_end_there_is_no_page() -> None:
    """Only pages that were read can be asked for then."""
    one = reading()
    last = one.token
    one.page(EVENTS, last, 0, 7)
    one.check(last, 0, 7)

    assert refused(one, "a", 13, 1) == "MUTATED_TOKEN"
