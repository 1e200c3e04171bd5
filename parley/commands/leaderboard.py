"""`harness leaderboard RUN...`: models over all played families, one row each, with intervals of their ranks."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.tasks import Json
from harness.errors import UsageError
from harness.output import emit
from parley.commands.report import Runs, registry, shown
from parley.reports.board import board
from parley.reports.evidence import gather, naming_misfits, read_runs


def leaderboard_command(
    ctx: typer.Context,
    runs: Runs,
    published: Annotated[bool, typer.Option(help="The papers' numbers as references, without a rank.")] = True,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on stdout.")] = False,
    json: Json = False,
) -> None:
    """Rank models over all families in these runs."""
    if markdown and json:
        raise UsageError("--markdown and --json both mean stdout; choose one")
    read, tasks = read_runs(runs), registry(ctx)
    families = sorted({result.family for run in read for result in run.results})
    with naming_misfits(read):
        made = board([gather(read, family, tasks) for family in families], published=published)
    if json:
        emit({"runs": [str(run.path) for run in read], "tables": [made.document()]})
    elif markdown:
        print(made.markdown(), end="")
    else:
        shown([made], print)
