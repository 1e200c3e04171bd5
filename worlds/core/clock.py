"""Virtual clock: an integer of milliseconds that moves only by a charge or by an explicit wait.

1. `charge` adds the cost of a request; `wait` adds an explicit wait, rounded up to the millisecond.
2. The epoch is drawn from the seed, so dates differ between seeds and repeat for the same seed.
3. Listeners are called after every move. The world uses one to write the file that libfaketime reads inside `main`.
Real latency has no effect: nothing here reads a wall clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

EPOCH_EARLIEST = datetime(2031, 1, 1, tzinfo=UTC)
"""Earliest epoch; epochs lie in the decade after it, far from any real clock, so a mix-up is visible."""

EPOCH_SPAN_S = 10 * 365 * 24 * 3600


def http_date(moment: datetime) -> str:
    """Format an instant for the Date header (RFC 9110 section 5.6.7), in whole seconds."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


class VirtualClock:
    """Virtual time: `elapsed_ms` since the episode began, added to a fixed `epoch`."""

    def __init__(self, epoch: datetime) -> None:
        self.epoch = epoch
        self.elapsed_ms = 0
        self._dated = (-1, "")
        """Cached second and its formatted date."""

        self._listeners: list[Callable[[VirtualClock], None]] = []

    @property
    def now(self) -> datetime:
        """The virtual instant, timezone-aware UTC."""
        return self.epoch + timedelta(milliseconds=self.elapsed_ms)

    @property
    def http_date(self) -> str:
        """The virtual instant in the format of the Date header."""
        second = self.elapsed_ms // 1000
        if self._dated[0] != second:
            self._dated = second, http_date(self.now)
        return self._dated[1]

    @property
    def seconds_text(self) -> str:
        """Seconds since the episode began with three decimals, as in X-Virtual-Time."""
        return f"{self.elapsed_ms // 1000}.{self.elapsed_ms % 1000:03d}"

    def listen(self, heard: Callable[[VirtualClock], None]) -> None:
        """Call `heard` now and after every move."""
        self._listeners.append(heard)
        heard(self)

    def charge(self, cost_ms: int) -> None:
        """Advance time by the cost of a request in ms; raises ValueError for a negative cost."""
        if cost_ms < 0:
            raise ValueError(f"time can't go backwards, cost was {cost_ms} ms")
        if cost_ms:
            self.elapsed_ms += cost_ms
            for heard in self._listeners:
                heard(self)

    def wait(self, seconds: float) -> int:
        """Advance time by `seconds`, rounded up to a whole ms, and return the ms; raises ValueError unless finite and > 0."""
        if not math.isfinite(seconds) or seconds <= 0:
            raise ValueError(f"a wait must be finite and above 0 s, not {seconds}")
        waited = max(1, math.ceil(round(seconds * 1000, 6)))
        self.charge(waited)
        return waited


def epoch_at(offset_s: int) -> datetime:
    """Return the epoch `offset_s` whole seconds into the range of epochs."""
    return EPOCH_EARLIEST + timedelta(seconds=offset_s % EPOCH_SPAN_S)
