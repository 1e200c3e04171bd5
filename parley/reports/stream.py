"""Events of a run as records for programs (`harness run --jsonl`): one JSON object per line, in chronological order.

`event` names the kind. `begun` comes first and `ended` last; between them, each episode has `started`, its `phase`s and
`finished`. With `--until`, `scored` reports the state of the decision. If the run was killed, its stream has no `ended`. Times
are real seconds since `begun`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from harness.atomic_write import append_to_file, writing
from harness.attribution import Phase, PhaseName
from harness.cli.amounts import spent_by
from harness.errors import Cancelled
from harness.records import Key, Result
from harness.runs.executors.base import Again, Finished, News, Progress, Scored, Started
from harness.runs.run import now
from harness.runs.session import WatchedRun
from worlds.core.models import Strict


class Totals(Strict):
    """Progress of a run."""

    planned: int
    """Number of episodes of the whole run, or of one part of a sweep."""

    done: int
    """Number of episodes with a record, including earlier sessions."""

    succeeded: int
    ungraded: int
    calls: int
    """Model calls of all sessions, including those of lost episodes; the same applies to the next two fields."""

    tokens: int
    cost_usd: float
    unpriced_calls: int
    """Number of calls that `cost_usd` does not include."""


class BegunLine(Strict):
    """Start of the run."""

    event: Literal["begun"] = "begun"
    at: str
    """Start in UTC, as ISO 8601."""

    path: str
    """Folder of the run."""

    totals: Totals


class _Timed(Strict):
    event: str
    t: float


class StartedLine(_Timed):
    """Start of an episode."""

    event: Literal["started"] = "started"
    episode: str
    key: Key


class PhaseLine(_Timed):
    """Start or end of an episode's phase."""

    event: Literal["phase"] = "phase"
    episode: str
    phase: PhaseName
    seconds: float | None
    """Duration of the phase; None when it begins."""


class FinishedLine(_Timed):
    """End of an episode, with its record."""

    event: Literal["finished"] = "finished"
    episode: str
    result: Result
    totals: Totals


class AgainLine(_Timed):
    """Retry of episodes without a grade after a pause."""

    event: Literal["again"] = "again"
    episodes: tuple[str, ...]
    pause_s: float


class ScoredLine(Scored, _Timed):
    """State of the decision of a run that stops once one of two players is better."""

    event: Literal["scored"] = "scored"


class EndedLine(_Timed):
    """End of the run."""

    event: Literal["ended"] = "ended"
    why: Literal["complete", "interrupted", "failed"]
    totals: Totals


RunLine = Annotated[
    BegunLine | StartedLine | PhaseLine | FinishedLine | AgainLine | ScoredLine | EndedLine, Field(discriminator="event")
]


def line_of(news: News, t: float, totals: Totals) -> Strict:
    """Return an event as a record, `t` seconds after the run began."""
    if isinstance(news, Started):
        return StartedLine(t=t, episode=news.key.name, key=news.key)
    if isinstance(news, Phase):
        return PhaseLine(t=t, episode=news.key.name, phase=news.name, seconds=news.seconds)
    if isinstance(news, Finished):
        return FinishedLine(t=t, episode=news.key.name, result=news.result, totals=totals)
    if isinstance(news, Again):
        return AgainLine(t=t, episodes=tuple(key.name for key in news.keys), pause_s=news.seconds)
    if isinstance(news, Scored):
        return ScoredLine(t=t, **dict(news))
    raise AssertionError(f"{news} is not an event of a run")


Watching = Callable[[WatchedRun], AbstractContextManager[Progress]]
STDOUT = "-"


def streamed(watching: Watching, target: str) -> Watching:
    """Return a listener that also appends every event to `target`."""

    @contextmanager
    def both(watched: WatchedRun) -> Iterator[Progress]:
        stream = _Stream(watched, target)
        with watching(watched) as heard, stream.written():

            def tell(news: News) -> None:
                stream.tell(news)
                heard(news)

            yield tell

    return both


class _Stream:
    """The lines of one run."""

    def __init__(self, watched: WatchedRun, target: str) -> None:
        self._watched, self._target, self._began = watched, target, time.monotonic()
        self._results: dict[tuple[str, Key], Result] = {(one.run, one.key): one for one in watched.done}

    @contextmanager
    def written(self) -> Iterator[None]:
        """Write `begun` on entry and `ended` on exit."""
        self._write(BegunLine(at=now(), path=str(self._watched.folder), totals=self._totals()))
        why: Literal["complete", "interrupted", "failed"] = "failed"
        try:
            yield
            why = "complete"
        except (KeyboardInterrupt, Cancelled):
            why = "interrupted"
            raise
        finally:
            self._write(EndedLine(t=self._t(), why=why, totals=self._totals()))

    def tell(self, news: News) -> None:
        if isinstance(news, Finished):
            self._results[news.result.run, news.key] = news.result
        self._write(line_of(news, self._t(), self._totals()))

    def _t(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _totals(self) -> Totals:
        results = list(self._results.values())
        spent = self._watched.meter.spent
        spent = spent if spent.calls else spent_by(results)
        return Totals(
            planned=self._watched.episodes, done=len(results), succeeded=sum(one.success for one in results),
            ungraded=sum(one.status == "ungraded" for one in results), calls=spent.calls, tokens=spent.tokens,
            cost_usd=spent.cost_usd, unpriced_calls=spent.unpriced,
        )  # fmt: skip

    def _write(self, line: Strict) -> None:
        written = line.model_dump_json().encode() + b"\n"
        if self._target == STDOUT:
            with writing(Path("/dev/stdout")):
                sys.stdout.buffer.write(written)
                sys.stdout.buffer.flush()
            return
        with writing(Path(self._target)):
            append_to_file(Path(self._target), written)
