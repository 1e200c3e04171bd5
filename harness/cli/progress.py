"""Progress of a run: a live table on a terminal, one line per episode elsewhere.

1. Both include episodes of earlier sessions, and show the spending so far, over all answered calls, and the estimated time
   left at the rate of this session's episodes.
2. The table fits the terminal: the longest running episodes come first, then the last finished ones; the rest is counted.
3. In CI, on a terminal that cannot move its cursor, and in a pipe progress is printed as lines.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.table import Table

from harness.attribution import PHASES, Phase
from harness.cli.amounts import cost_told, counted, duration, short
from harness.output import people, say
from harness.records import Key, Result
from harness.runs.executors.base import Finished, News, Progress, Scored, Started
from harness.runs.request import player_of
from harness.runs.session import WatchedRun

_ROWS, _AROUND = 12, 7
"""Maximum number of rows of finished episodes; lines of the terminal that are not rows."""

_OUTCOME = 32
"""Minimum width of an outcome in columns."""

_NAMED = 3
"""Maximum number of episodes that are named in one message."""


@contextmanager
def progress(watched: WatchedRun) -> Iterator[Progress]:
    """Yield the listener that a run reports to."""
    if not people.is_terminal or people.is_dumb_terminal or os.environ.get("CI"):
        with plainly(watched) as heard:
            yield heard
        return
    board = _Board(watched)
    with Live(console=people, refresh_per_second=4, transient=True, get_renderable=board.table, vertical_overflow="crop"):
        yield board.note


@contextmanager
def plainly(watched: WatchedRun) -> Iterator[Progress]:
    """Yield a listener that prints one line per episode, also on a terminal."""
    yield _Board(watched).plain


class _Board:
    """Running and finished episodes."""

    def __init__(self, watched: WatchedRun) -> None:
        self.watched, self.started = watched, time.monotonic()
        self.running: dict[Key, tuple[str, float]] = {}
        """Episodes with the phase of each and its start time."""

        self.done: dict[tuple[str, Key], Result] = {}
        """Episodes of this session, by run or part as well as key, because two players of a sweep have the same episodes."""

        self.standing = ""
        """Current standing of a run with --until."""

        self._interval = (0, "")

    def note(self, event: News) -> None:
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
        self.note(event)
        if isinstance(event, Finished):
            who = f"{player_of(event.result.run)}: " if self.standing else ""
            told = f"{who}{event.key.name}: {outcome(event.result)}, {event.result.timings.total:.1f} s"
            say("; ".join([f"[{self.count}/{self.watched.episodes}] {told}", *self._so_far()]))
        elif isinstance(event, Scored):
            say(self.standing)

    @property
    def count(self) -> int:
        return len(self.watched.done) + len(self.done)

    def _so_far(self) -> Iterator[str]:
        spent = self.watched.meter.spent
        if spent.calls:
            yield f"{cost_told(spent)}, {short(spent.tokens)} tokens"
        if self.watched.episodes > 1:
            elapsed, left = time.monotonic() - self.started, self.watched.episodes - self.count
            rest = f", {duration(elapsed / len(self.done) * left)} left" if self.done and left else ""
            yield f"{duration(elapsed)}{rest}"

    def table(self) -> Table:
        counts = f"{self.count} of {self.watched.episodes} episodes done, {len(self.running)} running; {self._success()}"
        title = f"{counts}\n{'; '.join([*self._so_far(), *self._slowest()])}"
        title += f"\n{self.standing}" if self.standing else ""
        table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold", expand=True)
        table.add_column("episode", no_wrap=True, overflow="ellipsis")
        table.add_column("outcome", no_wrap=True, overflow="ellipsis", ratio=1)
        room = max(3, people.height - _AROUND - (2 if self.standing else 0))
        running = sorted(self.running.items(), key=lambda one: one[1][1])
        shown = running[: max(2, room - min(len(self.done), 3))]
        for key, (phase, since) in shown:
            table.add_row(_fitting(key), f"{phase}, {duration(time.monotonic() - since)}", style="cyan")
        if more := len(running) - len(shown):
            table.add_row(f"and {more} more running", "")
        recent = min(_ROWS, room - len(shown))
        for result in reversed(list(self.done.values())[-recent:] if recent > 0 else []):
            who = f"{player_of(result.run)}: " if self.standing else ""
            table.add_row(_fitting(result.key), f"{who}{outcome(result)}")
        return table

    def _success(self) -> str:
        """Return the number of successes among graded episodes, with the interval of the rate; cached by the count."""
        if self._interval[0] != self.count or not self._interval[1]:
            tasks: defaultdict[str, list[bool]] = defaultdict(list)
            for one in (*self.watched.done, *self.done.values()):
                if one.status == "graded":
                    tasks[one.task_id].append(one.success)
            graded = [success for task in tasks.values() for success in task]
            told = f"{sum(graded)} of {len(graded)} succeeded" if graded else "none graded yet"
            between = _interval(list(tasks.values())) if graded and importlib.util.find_spec("scipy") else None
            self._interval = (self.count, f"{told} ({between[0]:.0%} to {between[1]:.0%})" if between else told)
        return self._interval[1]

    def _slowest(self) -> Iterator[str]:
        """Yield the slowest phase of this session's episodes."""
        seconds = {name: sum(getattr(one.timings, name) for one in self.done.values()) for name in PHASES}
        if total := sum(seconds.values()):
            name = max(seconds, key=lambda phase: seconds[phase])
            yield f"slowest phase {name}, {seconds[name] / total:.0%} of the time"


def _interval(tasks: list[list[bool]]) -> tuple[float, float] | None:
    from harness.statistics import rate_interval  # noqa: PLC0415 - a live table alone has it

    return rate_interval(tasks)


def standing(now: Scored) -> str:
    """Return the current standing of a run with --until."""
    if now.difference is None:
        return f"no task of {now.tasks} scored yet; the run stops at an e-value of {now.needed:g}"
    ahead = f", {player_of(now.ahead)} ahead" if now.ahead else ""
    last = f"{player_of(now.first)} - {player_of(now.second)} {now.difference:+.2f} on {now.task}"
    return f"{now.scored} of {now.tasks} tasks scored, e-value {now.e_value:.2f} of {now.needed:g} needed{ahead}; {last}"


def _fitting(key: Key) -> str:
    """Return an episode's name, shortened by its family if it does not fit, but never by its seed."""
    room = people.width - _OUTCOME
    if len(key.name) <= room:
        return key.name
    name = key.name.partition("/")[2]
    task, _, instance = name.rpartition("/")
    return name if len(name) <= room else f"{task[: room - len(instance) - 2]}…/{instance}"


def _again(keys: tuple[Key, ...], seconds: float) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    names = ", ".join(key.name for key in keys[:_NAMED])
    return f"{counted(len(keys), 'episode')} lost to temporary failures, retried in {seconds:.0f} s: {names}{more}"


def outcome(result: Result) -> str:
    """Return the outcome of an episode in a few words."""
    if result.reward is None:
        return result.outcome
    return f"{result.outcome}, reward {result.reward:g}{', recovered' if result.recovered else ''}"
