"""Progress of a run: a live table on a terminal, one line per episode elsewhere.

1. Both count episodes of earlier sessions. They show the spending so far, over all answered calls, and the time left, estimated
from the rate of this session's episodes.
2. The table (`parley.reports.closing`) fits the terminal.
3. In CI, on a terminal that cannot move its cursor, and in a pipe progress is printed as lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.attribution import Phase
from harness.cli.amounts import cost_told, counted, duration, short
from harness.output import people, say
from harness.plugins import optional
from harness.records import Key, Result
from harness.runs.executors.base import Finished, News, Progress, Scored, Started
from harness.runs.request import player_of
from harness.runs.session import WatchedRun

_NAMED = 3
"""Maximum number of episodes that are named in one message."""


@contextmanager
def progress(watched: WatchedRun) -> Iterator[Progress]:
    """Yield the listener that a run reports to."""
    if not people.is_terminal or people.is_dumb_terminal or os.environ.get("CI"):
        with plainly(watched) as heard:
            yield heard
        return
    with optional("live table")(watched) as heard:
        yield heard


@contextmanager
def plainly(watched: WatchedRun) -> Iterator[Progress]:
    """Yield a listener that prints one line per episode, also on a terminal."""
    yield ProgressBoard(watched).plain


class ProgressBoard:
    """Running and finished episodes."""

    def __init__(self, watched: WatchedRun) -> None:
        self.watched, self.started = watched, time.monotonic()
        self.running: dict[Key, tuple[str, float]] = {}
        """Episodes with the phase of each and its start time."""

        self.done: dict[tuple[str, Key], Result] = {}
        """Episodes of this session, by run or part as well as key, because two players of a sweep have the same episodes."""

        self.standing = ""
        """Current standing of a run with --until."""

    def note(self, event: News) -> None:
        """Take note of an event."""
        if isinstance(event, Started):
            self.running[event.key] = ("begun", time.monotonic())
        elif isinstance(event, Phase):
            # the phases of an episode that another process plays arrive only when it is finished
            if event.key in self.running and event.seconds is None:
                self.running[event.key] = (event.name, time.monotonic())
        elif isinstance(event, Finished):
            self.running.pop(event.key, None)
            self.done[event.result.run, event.key] = event.result
        elif isinstance(event, Scored):
            self.standing = standing(event)
        else:
            # retried episodes do not count as done until they finish again
            self.done = {key: one for key, one in self.done.items() if key[1] not in event.keys or one.status == "graded"}
            say(_again(event.keys, event.seconds))

    def plain(self, event: News) -> None:
        """Take note of an event, and print a line if it ends an episode or scores a task."""
        self.note(event)
        if isinstance(event, Finished):
            who = f"{player_of(event.result.run)}: " if self.standing else ""
            told = f"{who}{event.key.name}: {outcome(event.result)}, {event.result.timings.total:.1f} s"
            say("; ".join([f"[{self.count}/{self.watched.episodes}] {told}", *self.so_far()]))
        elif isinstance(event, Scored):
            say(self.standing)

    @property
    def count(self) -> int:
        """Number of episodes that are done, with those of earlier sessions."""
        return len(self.watched.done) + len(self.done)

    def so_far(self) -> Iterator[str]:
        """Yield the spending, and the time so far and left."""
        spent = self.watched.meter.spent
        if spent.calls:
            yield f"{cost_told(spent)}, {short(spent.tokens)} tokens"
        if self.watched.episodes > 1:
            elapsed, left = time.monotonic() - self.started, self.watched.episodes - self.count
            rest = f", {duration(elapsed / len(self.done) * left)} left" if self.done and left else ""
            yield f"{duration(elapsed)}{rest}"


def standing(now: Scored) -> str:
    """Return the current standing of a run with --until."""
    if now.difference is None:
        return f"no task of {now.tasks} scored yet; the run stops at an e-value of {now.needed:g}"
    ahead = f", {player_of(now.ahead)} ahead" if now.ahead else ""
    last = f"{player_of(now.first)} - {player_of(now.second)} {now.difference:+.2f} on {now.task}"
    return f"{now.scored} of {now.tasks} tasks scored, e-value {now.e_value:.2f} of {now.needed:g} needed{ahead}; {last}"


def _again(keys: tuple[Key, ...], seconds: float) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    names = ", ".join(key.name for key in keys[:_NAMED])
    return f"{counted(len(keys), 'episode')} lost to temporary failures, retried in {seconds:.0f} s: {names}{more}"


def outcome(result: Result) -> str:
    """Return the outcome of an episode in a few words."""
    if result.reward is None:
        return result.outcome
    return f"{result.outcome}, reward {result.reward:g}{', recovered' if result.recovered else ''}"
