"""An episode for validators: typed events with a verified chain, and common queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validators.verdict import Verdict
from worlds.core.events import Closed, Event, Issued, Opened, Requested, Stopped, read_log


@dataclass(frozen=True)
class Episode:
    """One whole event log."""

    events: tuple[Event, ...]

    @classmethod
    def read(cls, path: Path) -> Episode:
        """Read a log file; raises LogError if it is invalid, OSError if it is missing."""
        return cls(tuple(read_log(path.read_bytes())))

    @property
    def opened(self) -> Opened:
        """The first event."""
        first = self.events[0]
        assert isinstance(first, Opened)
        return first

    @property
    def requests(self) -> tuple[Requested, ...]:
        """Every judged request, in order."""
        return tuple(e for e in self.events if isinstance(e, Requested))

    @property
    def violations(self) -> tuple[Requested, ...]:
        """The requests that broke a rule, in order."""
        return tuple(e for e in self.requests if e.kind == "violation")

    @property
    def goal(self) -> Requested | None:
        """The request that reached the goal, or None."""
        return next((e for e in self.requests if e.kind == "goal"), None)

    @property
    def ended_by(self) -> str | None:
        """The budget, cap or stop that closed the episode; None if the agent ended it itself."""
        last = self.events[-1]
        return last.cause if isinstance(last, Closed | Stopped) else None

    @property
    def steps(self) -> int:
        """Number of requests that the world answered under its rules."""
        return len(self.requests)

    @property
    def elapsed_ms(self) -> int:
        """Virtual ms from the start to the last event."""
        return self.events[-1].vt

    @property
    def trace_hash(self) -> str:
        """The last hash of the chain."""
        return self.events[-1].hash

    def verdict(self, label: str, **judged: Any) -> Verdict:
        """Return the verdict with this label: the episode's own facts, and what a family has judged."""
        opened = self.opened
        return Verdict(
            task_id=opened.task_id, family=opened.family, category=opened.category, seed=opened.seed,
            success=label == "SUCCESS", failure_label=str(label), steps=self.steps,
            virtual_time_elapsed=self.elapsed_ms / 1000, trace_hash=self.trace_hash, **judged,
        )  # fmt: skip

    def served(self, method: str, path: str) -> Iterator[Requested]:
        """Return the requests to one path that were answered without a violation."""
        return (e for e in self.requests if (e.method, e.path) == (method, path) and e.kind in ("ok", "goal"))

    def expired_unused(self) -> list[Issued]:
        """Return the artifacts that expired before the end and were never used in a valid request."""
        used = {name for e in self.requests if e.kind in ("ok", "protocol", "goal") for name in e.used}
        handed_out = [made for e in self.requests for made in e.issued]
        return [made for made in handed_out if made.expires_at <= self.elapsed_ms and made.artifact not in used]
