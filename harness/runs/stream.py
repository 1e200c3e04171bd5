"""Events of a run as records for programs: one JSON object per line, in chronological order.

`event` names the kind. `begun` comes first and `ended` last; between them, each episode has `started`, its `phase`s and
`finished`. With `--until`, `scored` reports the state of the decision. If the run was killed, its stream has no `ended`. Times
are real seconds since `begun`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from harness.attribution import Phase, PhaseName
from harness.records import Key, Result
from harness.runs.executors.base import Again, Finished, News, Scored, Started
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
