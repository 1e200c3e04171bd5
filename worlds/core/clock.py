"""Time is an integer of virtual milliseconds that moves only by rule: a charge, or a wait that was asked for.

1. `charge` is the cost of a request; `wait` is an explicit wait, rounded up to the millisecond.
2. The epoch is drawn from the seed, so dates differ by seed and repeat with it.
3. Listeners hear every move; the world uses one to write the file that libfaketime reads inside `main`.
Real latency never enters: nothing here reads a wall clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

EPOCH_EARLIEST = datetime(2031, 1, 1, tzinfo=UTC)
"""Epochs lie in the decade after this instant: far from any real clock, so a mix-up shows."""

EPOCH_SPAN_S = 10 * 365 * 24 * 3600


def http_date(moment: datetime) -> str:
    """An instant in the format of the Date header (RFC 9110 section 5.6.7), whole seconds."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


class VirtualClock:
    """Virtual now: `elapsed_ms` since the episode began, on top of a fixed `epoch`."""

    def __init__(self, epoch: datetime) -> None:
        self.epoch = epoch
        self.elapsed_ms = 0
        self._dated = (-1, "")
        """The last date that was asked for, and the second that it says."""

        self._listeners: list[Callable[[VirtualClock], None]] = []

    @property
    def now(self) -> datetime:
        """The virtual instant, timezone-aware UTC."""
        return self.epoch + timedelta(milliseconds=self.elapsed_ms)

    @property
    def http_date(self) -> str:
        """Virtual now in the format of the Date header."""
        second = self.elapsed_ms // 1000
        if self._dated[0] != second:
            self._dated = second, http_date(self.now)
        return self._dated[1]

    @property
    def seconds_text(self) -> str:
        """Seconds since the episode began with three decimals, as X-Virtual-Time carries it."""
        return f"{self.elapsed_ms // 1000}.{self.elapsed_ms % 1000:03d}"

    def listen(self, heard: Callable[[VirtualClock], None]) -> None:
        """Call `heard` now and after every move."""
        self._listeners.append(heard)
        heard(self)

    def charge(self, cost_ms: int) -> None:
        """Move time by the cost of a request in ms; raises ValueError for a negative cost."""
        if cost_ms < 0:
            raise ValueError(f"time can't go backwards, cost was {cost_ms} ms")
        if cost_ms:
            self.elapsed_ms += cost_ms
            for heard in self._listeners:
                heard(self)

    def wait(self, seconds: float) -> int:
        """Move time by `seconds`, rounded up to a whole ms, and return the ms; raises ValueError unless finite and > 0."""
        if not math.isfinite(seconds) or seconds <= 0:
            raise ValueError(f"a wait must be finite and above 0 s, not {seconds}")
        waited = max(1, math.ceil(round(seconds * 1000, 6)))
        self.charge(waited)
        return waited


def epoch_at(offset_s: int) -> datetime:
    """The epoch `offset_s` whole seconds into the span that epochs are drawn from."""
    return EPOCH_EARLIEST + timedelta(seconds=offset_s % EPOCH_SPAN_S)
