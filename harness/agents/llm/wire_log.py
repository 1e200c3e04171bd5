"""Last model calls of one episode, or all with `--record-wire`, stored for its cassette (`harness.agents.llm.wire`).

A call is added to the log of the episode in whose context it is made, so episodes on different threads do not mix.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

LAST_CALLS, MOST_BYTES, MOST_BYTES_OF_ALL = 8, 1 << 20, 32 << 20
"""Limits of an episode's log: calls before a failure, their bytes, and bytes with `--record-wire`."""

Clean = Callable[[str], str]
"""Function that removes secrets from a text."""


LoggedCall = Any
"""A `WireExchange`; typed as Any, so that only a process that calls models has to import it."""


@dataclass
class WireLog:
    """Model calls of one episode."""

    keeps_all: bool = False
    clean: Clean = str
    last: list[LoggedCall] = field(default_factory=list)
    _kept: list[LoggedCall] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Make this the log of the current context."""
        token = _episode.set(self)
        try:
            yield
        finally:
            _episode.reset(token)

    def add(self, call: LoggedCall) -> None:
        """Add a call that starts, replacing the oldest ones if the log is full."""
        most, count = (MOST_BYTES_OF_ALL, None) if self.keeps_all else (MOST_BYTES, LAST_CALLS)
        with self._lock:
            self.last.append(call)
            size = sum(one.size for one in self.last)
            while len(self.last) > 1 and (size > most or (count and len(self.last) > count)):
                size -= self.last.pop(0).size

    def keep(self) -> None:
        """Keep the last calls permanently, because the reply to one of them was unusable."""
        with self._lock:
            if not self.keeps_all and sum(one.size for one in self._kept) < MOST_BYTES:
                self._kept, self.last = self._kept + self.last, []

    def dump(self, *, failed: bool) -> bytes:
        """Return the cassette as JSON; empty if no call failed, unless all calls are recorded."""
        with self._lock:
            calls = sorted(self._kept + (self.last if failed or self.keeps_all else []), key=lambda call: call.began)
        return bytes(calls[0].written(calls, self.clean)) if calls else b""


_episode: ContextVar[WireLog | None] = ContextVar("episode", default=None)


def episode_log() -> WireLog | None:
    """Return the log of the current episode; None outside of any."""
    return _episode.get()


def keep_wire() -> None:
    """Keep the last calls of the current episode, because the reply to one of them was unusable."""
    if (log := _episode.get()) is not None:
        log.keep()
