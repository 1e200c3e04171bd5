"""Rate limits: quotas on the frequency of requests, and ladders of waits after refusals.

`SlidingQuota` allows `limit` requests in any window of `window_ms` (RFC 6585 section 4). A refused request is a violation,
because the quota is announced. The client must then wait for Retry-After (RFC 9110 section 10.2.3).
`Ladder` answers a planned number of refusals with given waits, each of which must be respected.
All times are virtual ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from worlds.contract.labels import Label
from worlds.core.calls import Violation
from worlds.core.wire import Headers


def whole_seconds(ms: int) -> int:
    """Convert milliseconds to whole seconds, rounded up, as in Retry-After."""
    return -(-ms // 1000)


@dataclass
class SlidingQuota:
    """At most `limit` allowed requests in any half-open window of `window_ms`."""

    limit: int
    window_ms: int
    _allowed: list[int] = field(default_factory=list)
    _stay_away_until: int = 0

    def take(self, now: int) -> None:
        """Count one request; raises RATE_LIMITED over the quota, BACKOFF_VIOLATION before the end of a Retry-After."""
        if now < self._stay_away_until:
            raise self._refusal(Label.BACKOFF_VIOLATION, "retried before Retry-After had passed", self._stay_away_until - now)
        if self.remaining(now) == 0:
            wait = self.reset_in(now)
            self._stay_away_until = now + wait
            raise self._refusal(Label.RATE_LIMITED, "more requests than the quota allows", wait)
        self._allowed.append(now)

    def remaining(self, now: int) -> int:
        """Return the number of requests still allowed at `now`."""
        return self.limit - len(self._recent(now))

    def reset_in(self, now: int) -> int:
        """Return the virtual ms until one more request is allowed; 0 if one is allowed now."""
        recent = self._recent(now)
        return recent[0] + self.window_ms - now if len(recent) >= self.limit else 0

    def headers(self, now: int) -> Headers:
        """Return X-RateLimit-Limit, -Remaining and -Reset (whole seconds until one more request is allowed)."""
        return (
            ("X-RateLimit-Limit", str(self.limit)),
            ("X-RateLimit-Remaining", str(self.remaining(now))),
            ("X-RateLimit-Reset", str(whole_seconds(self.reset_in(now)))),
        )

    def _recent(self, now: int) -> list[int]:
        return [at for at in self._allowed if at > now - self.window_ms]

    def _refusal(self, label: Label, rule: str, wait_ms: int) -> Violation:
        seconds = whole_seconds(wait_ms)
        return Violation(
            label, rule, status=429, headers=(("Retry-After", str(seconds)),),
            limit=self.limit, window_s=self.window_ms / 1000, retry_after_s=seconds,
        )  # fmt: skip


@dataclass
class Ladder:
    """Planned refusals with growing waits: each wait must pass before the next refusal or the answer."""

    waits_ms: Sequence[int]
    _rung: int = 0
    _free_at: int = 0

    def climb(self, now: int) -> int | None:
        """Return the wait (ms) that this request is refused with, or None after the last refusal.

        Raises BACKOFF_VIOLATION for a request before the last wait has passed; the ladder then restarts.
        """
        if now < self._free_at:
            early = self._free_at - now
            self._rung, self._free_at = 0, 0
            raise Violation(
                Label.BACKOFF_VIOLATION, "retried before Retry-After had passed", status=503, early_by_s=early / 1000
            )
        if self._rung == len(self.waits_ms):
            return None
        wait = self.waits_ms[self._rung]
        self._rung += 1
        self._free_at = now + wait
        return wait
