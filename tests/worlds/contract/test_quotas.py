"""Quotas and ladders: how often, and how long to stay away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.quotas import Ladder, SlidingQuota, whole_seconds
from worlds.core.calls import Violation


def taken(quota: SlidingQuota, *times: int) -> list[str]:
    """What each request at these times is judged to be."""
    labels = []
    for now in times:
        try:
            quota.take(now)
        except Violation as broken:
            labels.append(broken.label)
        else:
            labels.append("ok")
    return labels


@pytest.mark.parametrize(
    ("times", "labels"),
    [
        ((0, 0, 999), ["ok", "ok", "RATE_LIMITED"]),
        ((0, 0, 1000), ["ok", "ok", "ok"]),
        ((0, 500, 1000, 1001), ["ok", "ok", "ok", "RATE_LIMITED"]),
        ((0, 0, 1, 2, 999), ["ok", "ok", "RATE_LIMITED", "BACKOFF_VIOLATION", "BACKOFF_VIOLATION"]),
        ((0, 0, 1, 1000, 1000, 1000), ["ok", "ok", "RATE_LIMITED", "ok", "ok", "RATE_LIMITED"]),
        ((0, 900, 950, 999, 1000), ["ok", "ok", "RATE_LIMITED", "BACKOFF_VIOLATION", "ok"]),
    ],
)
def test_sliding_window(times: tuple[int, ...], labels: list[str]) -> None:
    """Two requests in any half-open second; a refusal must be waited out, and waiting it out is enough."""
    assert labels == taken(SlidingQuota(2, 1000), *times)


def test_refusal_tells_when_to_come_back() -> None:
    """A 429 carries Retry-After in whole seconds, rounded up, and the three details."""
    quota = SlidingQuota(1, 60_000)
    quota.take(0)
    with pytest.raises(Violation) as broken:
        quota.take(1)

    assert (429, (("Retry-After", "60"),), {"limit": 1, "window_s": 60.0, "retry_after_s": 60}) == (
        broken.value.status, broken.value.headers, broken.value.detail,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("now", "values"), [(0, ("2", "2", "0")), (10, ("2", "1", "0")), (500, ("2", "0", "1")), (1011, ("2", "1", "0"))]
)
def test_headers(now: int, values: tuple[str, str, str]) -> None:
    """Limit, remaining and reset are announced."""
    quota = SlidingQuota(2, 1000)
    for at in (at for at in (10, 500) if at <= now):
        quota.take(at)

    assert dict(zip(("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"), values, strict=True)) == dict(
        quota.headers(now)
    )


@given(st.integers(1, 4), st.lists(st.integers(1, 400), min_size=1, max_size=40))
def test_who_reads_reset_is_never_refused(limit: int, steps: list[int]) -> None:
    """Waiting for `reset_in` before each request is enough, and no window ever holds more than the limit."""
    quota, now, allowed = SlidingQuota(limit, 1000), 0, []
    for step in steps:
        now += step
        now += quota.reset_in(now)
        quota.take(now)
        allowed.append(now)

    assert all(sum(at - 1000 < other <= at for other in allowed) <= limit for at in allowed)


@pytest.mark.parametrize(("ms", "seconds"), [(0, 0), (1, 1), (1000, 1), (1001, 2)])
def test_whole_seconds(ms: int, seconds: int) -> None:
    """Retry-After is rounded up, so who waits it has waited enough."""
    assert seconds == whole_seconds(ms)


def test_ladder_climbed() -> None:
    """Each planned wait, waited out to the millisecond, leads to the next rung and then to the answer."""
    ladder = Ladder((1000, 2000))

    assert [1000, 2000, None, None] == [ladder.climb(now) for now in (0, 1000, 3000, 3000)]


def test_ladder_hurried() -> None:
    """A millisecond too early is a violation, and the ladder starts anew."""
    ladder = Ladder((1000, 2000))
    ladder.climb(0)
    with pytest.raises(Violation) as broken:
        ladder.climb(999)

    assert ("BACKOFF_VIOLATION", 503, {"early_by_s": 0.001}) == (broken.value.label, broken.value.status, broken.value.detail)
    assert [1000, 2000, None] == [ladder.climb(now) for now in (999, 1999, 3999)]


def test_ladder_hurried_in_the_first_instant() -> None:
    """A ladder that starts anew can be climbed at once, even where no time has passed."""
    ladder = Ladder((1000,))
    ladder.climb(0)
    with pytest.raises(Violation):
        ladder.climb(0)

    assert ladder.climb(0) == 1000
