"""Chance is HMAC-SHA256 in counter mode, one stream per purpose, the same everywhere."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.core.chance import PUBLISHED_KEY, Chance, Stream, key_digest

KEY = b"k"
BLOCKS = [
    hmac.new(KEY, b'["task",7,"links",0]', hashlib.sha256).digest(),
    hmac.new(KEY, b'["task",7,"links",1]', hashlib.sha256).digest(),
]


def links() -> Stream:
    """The stream whose first blocks stand above."""
    return Stream("k", "task", 7, "links")


def test_known_block() -> None:
    """The first block of the published key, as a constant computed apart from this code (openssl dgst -hmac)."""
    expected = "ae389e3a2f6e583cab7626471acd1cb1"

    assert expected == Stream(PUBLISHED_KEY, "t", 0, "p").bytes(32).hex()[:32]


def test_stream_is_hmac_in_counter_mode() -> None:
    """Draws cut the concatenated blocks, across their borders."""
    stream = links()

    assert b"".join(BLOCKS)[:50] == stream.bytes(7) + stream.bytes(30) + stream.bytes(13)


def test_hex_and_base64_are_the_bytes() -> None:
    """Text draws render the bytes that are next, an odd number of digits included."""
    stream = links()

    assert (BLOCKS[0][:2].hex()[:3], BLOCKS[0][2:6].hex()) == (stream.hex(3), stream.hex(8))


def test_base64_alphabets() -> None:
    """Standard base64 is padded, the URL-safe one is not."""
    standard, safe = links().base64(32), links().base64url(32)

    assert (44, safe) == (len(standard), standard.translate(str.maketrans("+/", "-_")).rstrip("="))


def test_streams_are_independent() -> None:
    """What is drawn for one purpose leaves every other as it was."""
    disturbed, calm = Chance("k", "task", 7), Chance("k", "task", 7)
    disturbed("other").bytes(1000)

    assert calm("links").bytes(64) == disturbed("links").bytes(64)


def test_same_purpose_goes_on() -> None:
    """A purpose is one stream, and `fresh` begins it anew without touching it."""
    chance = Chance("k", "task", 7)
    first, again = chance("links").bytes(8), chance.fresh("links").bytes(8)
    second = chance("links").bytes(8)

    assert (BLOCKS[0][:8], BLOCKS[0][:8], BLOCKS[0][8:16]) == (first, again, second)


@pytest.mark.parametrize(
    "other",
    [
        Stream("K", "task", 7, "links"),
        Stream("k", "t", 7, "links"),
        Stream("k", "task", 8, "links"),
        Stream("k", "task", 7, ""),
    ],
)
def test_every_part_of_the_name_matters(other: Stream) -> None:
    """Key, task, seed and purpose each change the stream."""
    assert links().bytes(16) != other.bytes(16)


def test_no_two_names_share_a_stream() -> None:
    """The name is JSON, so text cannot move from one part to the next."""
    assert Stream("k", 'a",1,"b', 0, "c").bytes(16) != Stream("k", "a", 1, "b").bytes(16)


@pytest.mark.parametrize("bound", [3, 5, 6, 7, 100, 250])
def test_below_has_no_modulo_bias(bound: int) -> None:
    """Chi-squared over a fixed stream stays within five standard deviations of its mean."""
    draws, stream = 200 * bound, Stream("k", "bias", 0, str(bound))
    counts = [0] * bound
    for _ in range(draws):
        counts[stream.below(bound)] += 1
    chi = sum((count - 200) ** 2 / 200 for count in counts)

    assert abs(chi - (bound - 1)) < 5 * (2 * (bound - 1)) ** 0.5


def test_below_rejects_what_would_bias() -> None:
    """For a bound of 200 every byte from 200 up is skipped, not folded."""
    stream, raw = Stream("k", "bias", 0, "reject"), Stream("k", "bias", 0, "reject")
    kept = [byte for byte in raw.bytes(300) if byte < 200]

    assert kept[:100] == [stream.below(200) for _ in range(100)]


@given(st.integers(1, 2**70), st.integers(0, 50))
def test_below_stays_below(bound: int, seed: int) -> None:
    """Any bound holds, also beyond 64 bits."""
    assert 0 <= Stream("k", "bound", seed, "").below(bound) < bound


@pytest.mark.parametrize("bound", [0, -5])
def test_below_nothing(bound: int) -> None:
    """There is no integer in an empty range."""
    with pytest.raises(ValueError, match=rf"^bound must be >= 1, not {bound}$"):
        links().below(bound)


def test_between_includes_both_ends() -> None:
    """Both ends are drawn, and nothing beyond."""
    stream = links()

    assert {4, 5, 6} == {stream.between(4, 6) for _ in range(100)}
    assert {-1000, 0, 1000} == {stream.seconds(-1, 1) for _ in range(100)}


@given(st.lists(st.integers(), max_size=30), st.integers(0, 20))
def test_shuffle_and_choice_keep_the_items(items: list[int], seed: int) -> None:
    """A shuffle loses and adds nothing; a choice is one of the items."""
    stream, shuffled = Stream("k", "shuffle", seed, ""), list(items)
    stream.shuffle(shuffled)

    assert sorted(items) == sorted(shuffled)
    assert not items or stream.choice(items) in items


def test_every_order_is_drawn() -> None:
    """All six orders of three items come up about equally often."""
    stream = links()
    orders = [tuple(stream.sample((1, 2, 3), 3)) for _ in range(1200)]

    assert all(140 < orders.count(order) < 260 for order in set(orders))
    assert len(set(orders)) == 6


def test_sample_too_many() -> None:
    """One cannot draw more different items than there are."""
    with pytest.raises(ValueError, match=r"^can't draw 3 of 2 items$"):
        links().sample((1, 2), 3)


def test_key_digest_tells_no_key() -> None:
    """A record holds sixteen hex digits of the key's SHA-256."""
    assert hashlib.sha256(b"secret edition").hexdigest()[:16] == key_digest("secret edition")


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_same_bytes_under_any_hash_seed(hash_seed: str) -> None:
    """Another process with another PYTHONHASHSEED draws the same."""
    code = "from worlds.core.chance import Stream; s = Stream('k', 'task', 7, 'links'); print(s.hex(64), s.sample('abcdef', 6))"
    env = os.environ | {"PYTHONHASHSEED": hash_seed}
    printed = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    stream = links()

    assert f"{stream.hex(64)} {stream.sample('abcdef', 6)}\n" == printed
