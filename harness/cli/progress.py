"""How a run looks while it happens: a live table on a terminal, one line an episode elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.table import Table

from harness.console import people, say
from harness.play.episode import Phase
from harness.records import Key, Result
from harness.runs.executors.base import Finished, News, Progress, Started

_ROWS = 12


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """The listener that a run reports to."""
    board = _Board(total)
    if not people.is_terminal:
        yield board.plain
        return
    with Live(console=people, refresh_per_second=8, transient=True) as live:

        def heard(event: News) -> None:
            board.note(event)
            live.update(board.table())

        yield heard


@contextmanager
def plainly(total: int) -> Iterator[Progress]:
    """A listener that draws nothing: one line an episode."""
    yield _Board(total).plain


class _Board:
    """What is running and what is done."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.running: dict[Key, str] = {}
        """Episodes with the phase that each is in."""

        self.done: list[Result] = []

    def note(self, event: News) -> None:
        if isinstance(event, Started):
            self.running[event.key] = "starting"
        elif isinstance(event, Phase):
            self.running[event.key] = event.name
        else:
            self.running.pop(event.key, None)
            self.done.append(event.result)

    def plain(self, event: News) -> None:
        self.note(event)
        if isinstance(event, Finished):
            say(
                f"[{len(self.done)}/{self.total}] {event.key.name}: {outcome(event.result)}, {event.result.timings.total:.1f} s"
            )

    def table(self) -> Table:
        table = Table(box=None, pad_edge=False, title=f"{len(self.done)} of {self.total} episodes", title_justify="left")
        table.add_column("episode")
        table.add_column("outcome")
        for result in self.done[-_ROWS:]:
            table.add_row(result.key.name, outcome(result))
        for key, phase in self.running.items():
            table.add_row(key.name, f"running: {phase}")
        return table


def outcome(result: Result) -> str:
    """One episode in a few words."""
    if result.status == "ungraded":
        return f"ungraded ({result.cause}: {result.error})"
    recovered = ", recovered" if result.recovered else ""
    return f"{result.failure_label}, reward {result.reward:g}{recovered}"
