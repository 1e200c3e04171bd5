"""How a run looks while it happens: a live table on a terminal, one line an episode elsewhere.

Both count from what an earlier session has done, and say what was spent so far, by all calls that were answered, and how long
the rest may take: at the rate of this session's episodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.table import Table

from harness.cli.amounts import cost_told, duration, short
from harness.console import people, say
from harness.play.episode import Phase
from harness.records import Key, Result
from harness.runs.executors.base import Finished, News, Progress, Started
from harness.runs.session import WatchedRun

_ROWS = 12


@contextmanager
def progress(watched: WatchedRun) -> Iterator[Progress]:
    """The listener that a run reports to."""
    board = _Board(watched)
    if not people.is_terminal:
        yield board.plain
        return
    with Live(console=people, refresh_per_second=8, transient=True, get_renderable=board.table):
        yield board.note


class _Board:
    """What is running and what is done."""

    def __init__(self, watched: WatchedRun) -> None:
        self.watched, self.started = watched, time.monotonic()
        self.running: dict[Key, str] = {}
        """Episodes with the phase that each is in."""

        self.done: dict[Key, Result] = {}
        """Those of this session."""

    def note(self, event: News) -> None:
        if isinstance(event, Started):
            self.running[event.key] = "starting"
        elif isinstance(event, Phase):
            self.running[event.key] = event.name
        elif isinstance(event, Finished):
            self.running.pop(event.key, None)
            self.done[event.key] = event.result
        else:
            say(f"{len(event.keys)} episodes were lost to what may pass, and are played again in {event.seconds:.0f} s")

    def plain(self, event: News) -> None:
        self.note(event)
        if isinstance(event, Finished):
            told = f"{event.key.name}: {outcome(event.result)}, {event.result.timings.total:.1f} s"
            say("; ".join([f"[{self.count}/{self.watched.episodes}] {told}", *self._so_far()]))

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
        graded = [one for one in (*self.watched.done, *self.done.values()) if one.status == "graded"]
        counts = f"{self.count} of {self.watched.episodes} episodes, {sum(one.success for one in graded)} succeeded"
        title = "; ".join([counts, *self._so_far()])
        table = Table(box=None, pad_edge=False, title=title, title_justify="left")
        table.add_column("episode")
        table.add_column("outcome")
        for result in list(self.done.values())[-_ROWS:]:
            table.add_row(result.key.name, outcome(result))
        for key, phase in list(self.running.items()):
            table.add_row(key.name, f"running: {phase}")
        return table


def outcome(result: Result) -> str:
    """One episode in a few words."""
    if result.status == "ungraded":
        return f"ungraded ({result.cause}: {result.error})"
    recovered = ", recovered" if result.recovered else ""
    if result.stopped and not result.success:
        return f"stopped by {result.stopped} ({result.failure_label}), reward {result.reward:g}{recovered}"
    return f"{result.failure_label}, reward {result.reward:g}{recovered}"
