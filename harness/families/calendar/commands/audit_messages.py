"""`harness audit messages RUN...`: what the messages of calendar games disclose, and the behaviours that show in them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.console import emit, say
from harness.families.calendar.audits.files import write_files
from harness.families.calendar.audits.tables import tables
from harness.families.calendar.commands.audited import Json, What, games_of, show
from harness.report.statistics import scipy_stats

Csv = Annotated[Path | None, typer.Option("--csv", help="Folder for the rows: messages, labels, patterns, misreports.")]


def audit_messages(what: What, csv: Csv = None, json: Json = False) -> None:
    """What calendar messages disclose: own-slot labels, twelve patterns, leaks, false statements; no model is asked."""
    scipy_stats()
    read = games_of(what)
    made = tables(read)
    if json:
        emit({"tables": [one.document() for one in made]})
    else:
        show(made)
    for path in write_files(read.games, csv) if csv is not None else ():
        say(f"written: {path}")
