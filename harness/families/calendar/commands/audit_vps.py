"""`harness audit vps RUN...`: what typed messages of calendar games told, by three estimates; no model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.console import emit, say
from harness.families.calendar.audits.files import write_tables
from harness.families.calendar.commands.audited import Json, What, games_of, show
from harness.families.calendar.privacy.priors import FIELDS as PRIOR_FIELDS
from harness.families.calendar.privacy.priors import means_by_prior, prior_rows
from harness.families.calendar.privacy.typed import FIELDS, typed_tables
from harness.families.calendar.privacy.typed_summary import summary_tables
from harness.report.table import Row
from validators.calendar.vps import PRIOR

Csv = Annotated[Path | None, typer.Option("--csv", help="Folder for the tables of Appendix F.5, the exact losses and F.4.")]
Prior = Annotated[float, typer.Option(min=0.0, max=1.0, help="Belief that a slot is possible before anything is told.")]


def audit_vps(what: What, csv: Csv = None, prior: Prior = PRIOR, json: Json = False) -> None:
    """What typed calendar messages tell (VPS): as the paper counts, exactly, by source, and under other priors."""
    read = games_of(what)
    made, means = typed_tables(read.games, prior), means_by_prior(read.games)
    tables = summary_tables(read, made, means)
    if json:
        emit({"tables": [one.document() for one in tables]})
    else:
        show(tables)
    if csv is not None:
        files: dict[str, tuple[Sequence[str], Sequence[Row]]] = {name: (FIELDS[name], rows) for name, rows in made.items()}
        files["prior_sensitivity"] = (PRIOR_FIELDS, list(prior_rows(read.games, means)))
        for path in write_tables(files, csv):
            say(f"written: {path}")
