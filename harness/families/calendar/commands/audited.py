"""What the audits of calendar games share as commands: the runs they take, and how their tables are shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from harness.console import show_table
from harness.errors import UsageError
from harness.families.calendar.audits.games import ReadGames, read_games
from harness.printable import printable
from harness.reading import is_recorded, recorded_episodes
from harness.report.table import Table

What = Annotated[
    list[str],
    typer.Argument(help="What harness show takes: a run, one episode, a run and a task; or several runs.", metavar="RUN..."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def games_of(what: list[str]) -> ReadGames:
    """The games of what was named; raises UsageError where there are none."""
    read = read_games(_episodes(what))
    if not read.games:
        why = f"; {read.ungraded} episodes are ungraded, {read.unsound} hold none" if read.ungraded or read.unsound else ""
        raise UsageError(f"{' '.join(what)} has no calendar game to audit{why}", hint="harness show RUN")
    return read


def show(tables: Iterable[Table]) -> None:
    """Print tables with their notes."""
    for one in tables:
        cells = [[printable(cell) for cell in row] for row in one.cells()]
        show_table(one.header, cells, title=f"\n{one.title}")
        for note in one.notes:
            print(f"  {note}")


def _episodes(what: list[str]) -> list[Path]:
    """The episodes of each run named, or of the one run with what was chosen from it."""
    if len(what) > 1 and all(is_recorded(word) for word in what):
        return list(dict.fromkeys(path for word in what for path in recorded_episodes([word])))
    return recorded_episodes(what)
