"""State of one episode while it runs: its phases, its log, and the attribution of its failure.

1. Every exception is attributed to a row of `harness.causes.CAUSES`, which says who is responsible and whether the episode is
graded. If the world dies while an agent plays, the episode is graded 0; otherwise an agent could avoid a grade by killing the
world. A provider failure that would affect every other episode (ProviderLost) ends the run.
2. Any other exception while an agent plays is the agent's own failure: a client that gave up, or output of an agent that could
not be parsed. The episode's log is graded like any other.
3. The start and the end of a phase are reported to the listener and to the log that `-v` shows.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, get_args

from harness.agent import Report
from harness.agents.llm.wire_log import WireLog
from harness.causes import CAUSES, CauseName, Responsible
from harness.errors import BoundaryError, Cancelled, ProviderLost
from harness.pod import Judgement
from harness.records import Key, Result
from worlds.core.errors import ManifestError, ParleyError, WireError
from worlds.core.errors import WorldError as WorldBroken

PhaseName = Literal["open", "agent", "finish", "judge", "close"]
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)
"""Phases of an episode, in order."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Phase:
    """Start of an episode's phase, or its end with its real seconds."""

    key: Key
    name: PhaseName
    seconds: float | None = None
    """Duration; None at the start."""


Heard = Callable[[Phase], object]


def phases_of(result: Result) -> Iterator[Phase]:
    """Yield the phases of a recorded episode that another process has played."""
    seconds = result.timings.model_dump()
    yield from (Phase(result.key, name, seconds[name]) for name in PHASES)


@dataclass
class EpisodeState:
    """State of one episode while it runs."""

    report: Report
    key: Key
    heard: Heard | None = None
    log: bytes = b""
    judgement: Judgement | None = None
    opened: bool = False
    failed_by: CauseName | None = None
    """Cause of the first failure; None if nothing failed."""

    error: str | None = None
    may_pass: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    wire: WireLog = field(default_factory=WireLog)
    """Model calls of this episode."""

    syscalls: str = ""
    """System call policy, as `Runtime.syscalls` names it; "" if no pod opened."""

    @property
    def graded(self) -> bool:
        """True if the episode gets a grade. An episode whose world never opened gets none."""
        return self.opened and (self.failed_by is None or CAUSES[self.failed_by].is_graded)

    @property
    def cause(self) -> Responsible | None:
        """Party responsible for the first failure."""
        return CAUSES[self.failed_by].responsible if self.failed_by else None

    @contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        """Time a phase of the episode, and report its start and end."""
        _log.info("%s: %s ...", self.key.name, name)
        self._tell(Phase(self.key, name))
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - started
            _log.info("%s: %s took %.2f s", self.key.name, name, self.seconds[name])
            self._tell(Phase(self.key, name, self.seconds[name]))

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Time the whole episode."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds["total"] = time.perf_counter() - started

    @contextmanager
    def guarded(self, *, interrupts: bool = True) -> Iterator[None]:
        """Catch and attribute all failures of an episode.

        ProviderLost is re-raised, and KeyboardInterrupt if `interrupts` is False.
        """
        try:
            yield
        except ProviderLost:
            # every other episode would fail in the same way
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as failure:  # a failed episode is recorded, and does not end the run
            if isinstance(failure, KeyboardInterrupt) and not interrupts:
                raise
            self._attribute(failure)

    @contextmanager
    def own_failure(self) -> Iterator[None]:
        """Attribute exceptions in code that an agent controls to that agent, unless they are attributed to another part."""
        try:
            yield
        except WireError as failure:
            self.blame("agent_error", f"not sent: {failure}")
        except (ParleyError, OSError, MemoryError):
            # attributed elsewhere: these exceptions are not caused by an agent's output
            raise
        except (Exception, SystemExit) as failure:  # noqa: BLE001 - otherwise odd writing would be a way not to be counted
            self.blame("agent_error", f"{type(failure).__name__}: {failure}")
            self.report.log.append(traceback.format_exc())

    def blame(self, row: CauseName, error: str, *, may_pass: bool = False) -> None:
        """Record the first failure and ignore later ones."""
        if self.failed_by is None:
            self.may_pass = may_pass
            # a message may contain unpaired surrogates, which a record cannot contain
            self.failed_by, self.error = row, writable(error)

    def _attribute(self, failure: BaseException) -> None:
        if isinstance(failure, BoundaryError):
            self.blame(failure.name, str(failure), may_pass=failure.may_pass)
        elif isinstance(failure, Cancelled | KeyboardInterrupt):
            self.blame("cancelled", "interrupted")
        elif isinstance(failure, WorldBroken | ManifestError):
            self.blame("world_fault", str(failure))
        else:
            self.blame("runtime_failure", f"{type(failure).__name__}: {failure}", may_pass=isinstance(failure, OSError))
            self.report.log.append(traceback.format_exc())

    def _tell(self, phase: Phase) -> None:
        if self.heard is not None:
            self.heard(phase)


def writable(text: str) -> str:
    """Return a text without unpaired surrogates, which cannot be written to a file."""
    return text.encode(errors="replace").decode()
