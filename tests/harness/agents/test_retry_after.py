"""Pauses that providers ask for, in headers and in words."""

from __future__ import annotations

import pytest

from harness.agents.llm.failures import asked_pause

CASES = [
    ({"retry-after": "7"}, "", 7.0),
    ({"retry-after": "soon"}, "Please try again in 3s", None),
    ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 0.0),
    ({}, "Limit 6000, Used 5034, Requested 1443. Please try again in 7.66s. Need more?", 7.66),
    ({}, "Please try again in 1m26.4s.", 86.4),
    ({}, "Please try again in 120ms.", 0.12),
    ({}, "Please retry after 6 seconds.", 6.0),
    ({}, "Please retry in 25.3s.", 25.3),
    ({}, '{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "25s"}', 25.0),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, "", 360.0),
    ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, "", None),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "tomorrow"}, "", None),
    ({}, "Please try again in a while, or ask again in 5 s", None),
    ({}, "", None),
]


@pytest.mark.parametrize(("headers", "body", "seconds"), CASES)
def test_the_pause_that_is_asked_for(headers: dict[str, str], body: str, seconds: float | None) -> None:
    """A header counts before words; a limit's reset counts only where nothing of the limit remains."""
    assert asked_pause(headers, body) == (None if seconds is None else pytest.approx(seconds))
