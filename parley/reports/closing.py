"""Tables of a run: the live one on a terminal, and at the end of many episodes a row per task and the first failures."""

from __future__ import annotations

import importlib.util
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path

from rich.live import Live
from rich.table import Table

from harness.attribution import PHASES
from harness.cli.amounts import cost_told, duration, short, spent_by
from harness.cli.progress import ProgressBoard, outcome
from harness.cli.summary import MANY, outcome_line, stops
from harness.errors import quoted
from harness.output import people, say
from harness.records import Key, Result
from harness.runs.executors.base import Progress
from harness.runs.request import player_of
from harness.runs.session import WatchedRun
from harness.tables import show_table
from parley.statistics import rate_interval

_ROWS, _AROUND = 12, 7
"""Maximum number of rows of finished episodes; lines of the terminal that are not rows."""

_OUTCOME = 32
"""Minimum width of an outcome in columns."""


@contextmanager
def live_table(watched: WatchedRun) -> Iterator[Progress]:
    """Yield a listener that shows the table until the context ends."""
    board = _TableBoard(watched)
    with Live(console=people, refresh_per_second=4, transient=True, get_renderable=board.table, vertical_overflow="crop"):
        yield board.note


class _TableBoard(ProgressBoard):
    """Running and finished episodes as a table."""

    _interval = (0, "")

    def table(self) -> Table:
        counts = f"{self.count} of {self.watched.episodes} episodes done, {len(self.running)} running; {self._success()}"
        title = f"{counts}\n{'; '.join([*self.so_far(), *self._slowest()])}"
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
            between = rate_interval(list(tasks.values())) if graded and importlib.util.find_spec("scipy") else None
            self._interval = (self.count, f"{told} ({between[0]:.0%} to {between[1]:.0%})" if between else told)
        return self._interval[1]

    def _slowest(self) -> Iterator[str]:
        """Yield the slowest phase of this session's episodes."""
        seconds = {name: sum(getattr(one.timings, name) for one in self.done.values()) for name in PHASES}
        if total := sum(seconds.values()):
            name = max(seconds, key=lambda phase: seconds[phase])
            yield f"slowest phase {name}, {seconds[name] / total:.0%} of the time"


def _fitting(key: Key) -> str:
    """Return an episode's name, shortened by its family if it does not fit, but never by its seed."""
    room = people.width - _OUTCOME
    if len(key.name) <= room:
        return key.name
    name = key.name.partition("/")[2]
    task, _, instance = name.rpartition("/")
    return name if len(name) <= room else f"{task[: room - len(instance) - 2]}…/{instance}"


def show_many(results: Sequence[Result], folder: Path, *, beside_json: bool) -> None:
    """Print a row per task, on stdout unless a JSON document is there, and a line for each of the first failures."""
    show_table(*_table(results), beside_json=beside_json)
    _show_failures([result for result in results if not result.success], folder)


def _show_failures(failed: Sequence[Result], folder: Path) -> None:
    """Print the first failures of many, one line each, and the command that prints one."""
    for result in failed[:MANY]:
        say(f"{result.task_id} s{result.seed}-a{result.attempt}: {outcome_line(result)}")
    if len(failed) > MANY:
        say(f"and {len(failed) - MANY} more failures")
    if failed:
        say(f"  read one: harness show {quoted(folder)} {failed[0].task_id} s{failed[0].seed}-a{failed[0].attempt}")


def _table(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return a row per task of each part; columns without values (stops, costs) are left out."""
    parts = list(dict.fromkeys(result.run for result in results))
    rows = [(part * bool(parts[1:]), *row) for part in parts for row in _by_task([one for one in results if one.run == part])]
    columns = ("part", "task", "episodes", "success", "mean reward", "stopped by", "calls", "tokens", "cost", "labels")
    said = [any(row[number] for row in rows) or name not in _OPTIONAL for number, name in enumerate(columns)]
    return tuple(compress(columns, said)), [tuple(compress(row, said)) for row in rows]


_OPTIONAL = {"part", "stopped by", "calls", "tokens", "cost"}


def _by_task(results: Sequence[Result]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for task_id in dict.fromkeys(result.task_id for result in results):
        mine = [result for result in results if result.task_id == task_id]
        total, stopped = spent_by(mine), stops(mine)
        money = (total.calls or "", short(total.tokens) if total.calls else "", cost_told(total))
        labels = [result.failure_label or "ungraded" for result in mine]
        by_label = ", ".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))
        rewards = [result.reward for result in mine if result.reward is not None]
        mean = f"{sum(rewards) / len(rewards):.3f}" if rewards else "none"
        ended = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in stopped.items())
        rows.append((task_id, len(mine), sum(result.success for result in mine), mean, ended, *money, by_label))
    return rows
