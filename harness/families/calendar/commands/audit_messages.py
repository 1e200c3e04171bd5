"""`harness audit messages RUN...`: what the messages of calendar games disclose, and the behaviours that show in them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.console import emit, say, show_table
from harness.errors import UsageError
from harness.families.calendar.audits.files import write_files
from harness.families.calendar.audits.games import read_games
from harness.families.calendar.audits.tables import tables
from harness.printable import printable
from harness.reading import is_recorded, recorded_episodes
from harness.report.statistics import scipy_stats

What = Annotated[
    list[str],
    typer.Argument(help="What harness show takes: a run, one episode, a run and a task; or several runs.", metavar="RUN..."),
]
Csv = Annotated[Path | None, typer.Option("--csv", help="Folder for the rows: messages, labels, patterns, misreports.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def audit_messages(what: What, csv: Csv = None, json: Json = False) -> None:
    """What calendar messages disclose: own-slot labels, twelve patterns, leaks, false statements; no model is asked."""
    scipy_stats()
    read = read_games(_episodes(what))
    if not read.games:
        why = f"; {read.ungraded} episodes are ungraded, {read.unsound} hold none" if read.ungraded or read.unsound else ""
        raise UsageError(f"{' '.join(what)} has no calendar game to audit{why}", hint="harness show RUN")
    made = tables(read)
    if json:
        emit({"tables": [one.document() for one in made]})
    else:
        for one in made:
            cells = [[printable(cell) for cell in row] for row in one.cells()]
            show_table(one.header, cells, title=f"\n{one.title}")
            for note in one.notes:
                print(f"  {note}")
    for path in write_files(read.games, csv) if csv is not None else ():
        say(f"written: {path}")


def _episodes(what: list[str]) -> list[Path]:
    """The episodes of each run named, or of the one run with what was chosen from it."""
    if len(what) > 1 and all(is_recorded(word) for word in what):
        return list(dict.fromkeys(path for word in what for path in recorded_episodes([word])))
    return recorded_episodes(what)
