"""The way to one provider, which all its clients in this process share: how many calls at a time, and none before when.

As long as nobody is told to slow down, everybody may ask. After a Retry-After nobody asks before that time. A call that came at
a crowded time (429, 529) halves how many are under way at a time, each answer after that adds a little. Who comes first is let
through first, and the time spent here is the provider's. One that answers nobody is known as such by all (`unanswered_s`).
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


class ProviderGate:
    """The way to one provider."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._visitors = self._under_way = 0
        self._limit = inf
        self._narrowed_at = self._opens_at = 0.0
        self._unanswered_since: float | None = None

    @property
    def unanswered_s(self) -> float:
        """Real seconds for which nobody was answered, 0 where nobody failed since the last answer."""
        with self._changed:
            return 0.0 if self._unanswered_since is None else time.monotonic() - self._unanswered_since

    @contextmanager
    def visited(self) -> Iterator[None]:
        """For the time of one question with all its attempts; once nobody is here, only its width is remembered."""
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
        """One attempt: wait until it may be made, and give the seconds that took; raises Cancelled once `halt` is set."""
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
        """A call was answered: a little more than before may be asked at a time."""
        with self._changed:
            self._unanswered_since = None
            self._limit += 1 / self._limit
            self._changed.notify_all()

    def failed(self) -> None:
        """A call was not answered."""
        with self._changed:
            if self._unanswered_since is None:
                self._unanswered_since = time.monotonic()

    def crowded(self, asked_at: float) -> int | None:
        """A call of that time was one too many; how many may be under way from now on, None where that changes nothing."""
        with self._changed:
            if asked_at <= self._narrowed_at:
                return None
            most = max(1, int(min(self._limit, self._under_way)) // 2)
            self._limit, self._narrowed_at = most, time.monotonic()
            return most if most < self._under_way else None

    def close(self, seconds: float) -> bool:
        """Let nobody through for so long; whether that is news."""
        with self._changed:
            opens, before = time.monotonic() + seconds, self._opens_at
            self._opens_at = max(before, opens)
            return opens > before + 1

    def _is_free(self, ticket: object) -> bool:
        return self._queue[0] is ticket and self._under_way + 1 <= self._limit and time.monotonic() >= self._opens_at


_gates: dict[str, ProviderGate] = {}
_making = threading.Lock()


def gate_of(address: str) -> ProviderGate:
    """The gate of a provider, by its address, or its name where it has the usual one."""
    with _making:
        return _gates.setdefault(address, ProviderGate())
