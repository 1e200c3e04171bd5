"""Time moves only by rule: charges and waits in whole virtual milliseconds."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.core.clock import EPOCH_EARLIEST, EPOCH_SPAN_S, VirtualClock, epoch_at

EPOCH = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    """A clock at a known epoch."""
    return VirtualClock(EPOCH)


def test_starts_at_its_epoch(clock: VirtualClock) -> None:
    """Nothing has passed at first."""
    assert (0, EPOCH) == (clock.elapsed_ms, clock.now)


def test_charge_moves_time(clock: VirtualClock) -> None:
    """A charge adds its milliseconds."""
    clock.charge(1500)
    clock.charge(0)

    assert EPOCH + timedelta(seconds=1.5) == clock.now


def test_charge_backwards(clock: VirtualClock) -> None:
    """A negative charge is refused."""
    with pytest.raises(ValueError, match=r"^time can't go backwards, cost was -1 ms$"):
        clock.charge(-1)


@pytest.mark.parametrize(
    ("seconds", "ms"), [(1, 1000), (0.0015, 2), (0.001, 1), (0.0001, 1), (1e-10, 1), (5e-324, 1), (2.675, 2675), (1.1, 1100)]
)
def test_wait_rounds_up(clock: VirtualClock, seconds: float, ms: int) -> None:
    """A wait is rounded up to a whole millisecond, and never to none."""
    waited = clock.wait(seconds)

    assert (ms, ms) == (waited, clock.elapsed_ms)


@pytest.mark.parametrize("seconds", [0, -1, -0.001, math.inf, -math.inf, math.nan])
def test_wait_refused(clock: VirtualClock, seconds: float) -> None:
    """A wait must be finite and above 0, and a refused one moves nothing."""
    with pytest.raises(ValueError, match=rf"^a wait must be finite and above 0 s, not {seconds}$"):
        clock.wait(seconds)

    assert clock.elapsed_ms == 0


@given(st.lists(st.integers(1, 10**9), max_size=20))
def test_whole_milliseconds_wait_exactly(waits: list[int]) -> None:
    """Any number of whole-millisecond waits adds up without drift."""
    clock = VirtualClock(EPOCH)
    for ms in waits:
        clock.wait(ms / 1000)

    assert sum(waits) == clock.elapsed_ms


def test_http_date(clock: VirtualClock) -> None:
    """The Date header is IMF-fixdate in whole seconds, fractions cut off."""
    clock.charge(1999)

    assert clock.http_date == "Mon, 03 Feb 2031 04:05:07 GMT"


@pytest.mark.parametrize(("ms", "text"), [(0, "0.000"), (7, "0.007"), (1000, "1.000"), (61_234, "61.234")])
def test_seconds_text(clock: VirtualClock, ms: int, text: str) -> None:
    """X-Virtual-Time has three decimals."""
    clock.charge(ms)

    assert text == clock.seconds_text


def test_listeners_hear_every_move(clock: VirtualClock) -> None:
    """A listener hears the present at once, then each move, and no charge of nothing."""
    heard: list[int] = []
    clock.listen(lambda moved: heard.append(moved.elapsed_ms))
    clock.charge(5)
    clock.charge(0)
    clock.wait(1)

    assert heard == [0, 5, 1005]


@pytest.mark.parametrize(("offset", "epoch"), [(0, EPOCH_EARLIEST), (EPOCH_SPAN_S, EPOCH_EARLIEST)])
def test_epoch_span(offset: int, epoch: datetime) -> None:
    """Epochs wrap at the end of their span."""
    assert epoch == epoch_at(offset)
