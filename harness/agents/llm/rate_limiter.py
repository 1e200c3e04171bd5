"""Rate limiter for one provider, shared by all its clients in this process.

Calls are not limited until the provider asks for it. After a Retry-After, no call starts before that time. A rate-limited call
(429, 529) halves the limit of concurrent calls, and each later reply raises the limit a little. Waiting calls are served in
order of arrival, and their waiting time is attributed to the provider. `unanswered_s` is the time for which the provider has
answered no call at all.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from harness.errors import Cancelled

_LOOK_S = 0.25


class RateLimiter:
    """Rate limiter for one provider."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._visitors = self._under_way = 0
        self._limit = inf
        self._narrowed_at = self._opens_at = 0.0
        self._unanswered_since: float | None = None

    @property
    def unanswered_s(self) -> float:
        """Real seconds for which no call was answered, 0 if none has failed since the last reply."""
        with self._changed:
            return 0.0 if self._unanswered_since is None else time.monotonic() - self._unanswered_since

    @contextmanager
    def visited(self) -> Iterator[None]:
        """Register a request until its last attempt has ended. While no request is registered, only the limit is remembered."""
        with self._changed:
            self._visitors += 1
        try:
            yield
        finally:
            with self._changed:
                self._visitors -= 1
                if not self._visitors:
                    self._unanswered_since, self._opens_at = None, 0.0

    @contextmanager
    def passed(self, halt: threading.Event) -> Iterator[float]:
        """Wait until one attempt may start, and yield the seconds waited; raises Cancelled once `halt` is set."""
        came, ticket = time.monotonic(), object()
        with self._changed:
            self._queue.append(ticket)
            try:
                waits = not self._is_free(ticket)
                while not self._is_free(ticket):
                    if halt.is_set():
                        raise Cancelled("interrupted while waiting for the provider")
                    opens_in = self._opens_at - time.monotonic()
                    self._changed.wait(min(_LOOK_S, opens_in) if opens_in > 0 else _LOOK_S)
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
            self._under_way += 1
        try:
            yield time.monotonic() - came if waits else 0.0
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def answered(self) -> None:
        """Record a reply, which raises the limit slightly."""
        with self._changed:
            self._unanswered_since = None
            self._limit += 1 / self._limit
            self._changed.notify_all()

    def failed(self) -> None:
        """Record a call that was not answered."""
        with self._changed:
            if self._unanswered_since is None:
                self._unanswered_since = time.monotonic()

    def crowded(self, asked_at: float) -> int | None:
        """Record a rate-limited call made at `asked_at`. Return the new limit, or None if it is unchanged."""
        with self._changed:
            if asked_at <= self._narrowed_at:
                return None
            most = max(1, int(min(self._limit, self._under_way)) // 2)
            self._limit, self._narrowed_at = most, time.monotonic()
            return most if most < self._under_way else None

    def close(self, seconds: float) -> bool:
        """Block all calls for this time, and return True if that extends the current block by more than 1 s."""
        with self._changed:
            opens, before = time.monotonic() + seconds, self._opens_at
            self._opens_at = max(before, opens)
            return opens > before + 1

    def _is_free(self, ticket: object) -> bool:
        return self._queue[0] is ticket and self._under_way + 1 <= self._limit and time.monotonic() >= self._opens_at


_gates: dict[str, RateLimiter] = {}
_making = threading.Lock()


def gate_of(address: str) -> RateLimiter:
    """Return the rate limiter of a provider by its address, or by its name if it has the default address."""
    with _making:
        return _gates.setdefault(address, RateLimiter())
