"""`harness report`: the tables of one or many runs, for people on stderr, as Markdown or JSON on stdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from harness import families
from harness.cli.console import emit, say, show_table
from harness.cli.tasks import Json
from harness.errors import HarnessError, UsageError
from harness.registry import Task, discover, tasks_root
from harness.report.evidence import gather
from harness.report.runs import Run, read_runs
from harness.report.statistics import scipy_stats
from harness.report.table import Table
from harness.writing import writing

Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or of folders of runs.")]
Wanted = Annotated[
    list[str] | None,
    typer.Option("--table", help="A table by name (docs/reports.md has them, by family), or all; repeatable."),
]
Plot = Annotated[Path | None, typer.Option(help="Write the figure of these runs as SVG (hidden-profile: Figure 4).")]


def report_command(
    ctx: typer.Context,
    runs: Runs,
    table: Wanted = None,
    published: Annotated[bool, typer.Option(help="The paper's numbers beside ours, marked as published.")] = True,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on stdout.")] = False,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Make the tables of every family in these runs that has reports."""
    if markdown and json:
        raise UsageError("--markdown and --json both mean stdout; choose one")
    wanted = [] if "all" in (table or ()) else table or []
    scipy_stats()
    read = read_runs(runs)
    if plot is not None:
        with writing(plot):
            plot.parent.mkdir(parents=True, exist_ok=True)
    by_family = _tables(read, _registry(ctx), wanted, published=published)
    made = _all(by_family)
    if plot is not None:
        _draw(by_family, plot)
    if json:
        emit({"runs": [str(run.path) for run in read], "tables": [one.document() for one in made]})
    elif markdown:
        print("\n".join(one.markdown() for one in made), end="")
    else:
        _show(made)


def show_tables(ctx: typer.Context, runs: Sequence[Path]) -> None:
    """Print every table that has something to say of these runs."""
    scipy_stats()
    _show(_all(_tables(read_runs(runs), _registry(ctx), [], published=True)))


def _all(by_family: Mapping[str, Sequence[Table]]) -> list[Table]:
    return [table for tables in by_family.values() for table in tables]


def _draw(by_family: Mapping[str, Sequence[Table]], path: Path) -> None:
    """Write the one plot that these tables have; raises UsageError where there is none, or no one."""
    drawn = [
        figure.PLOTS[table.name](table.rows)
        for family, tables in by_family.items()
        if (figure := families.find(family, "figure"))
        for table in tables
        if table.name in figure.PLOTS
    ]
    if len(drawn) != 1:
        raise UsageError(
            f"--plot draws one figure, and these tables have {len(drawn) or 'none'}",
            hint=f"harness report RUN --table accuracy --plot {path}, for runs of hidden-profile",
        )
    with writing(path):
        path.write_text(drawn[0], encoding="utf-8")
    say(f"drawn: {path}")


def _registry(ctx: typer.Context) -> list[Task]:
    """The tasks that complete means all of; a broken registry is said and done without."""
    try:
        return discover(tasks_root(ctx.obj["tasks"]))
    except HarnessError as error:
        say(f"no registry to hold the runs against: {error}")
        return []


def _tables(runs: Sequence[Run], tasks: Sequence[Task], wanted: Sequence[str], *, published: bool) -> dict[str, list[Table]]:
    played = list(dict.fromkeys(result.family for run in runs for result in run.results))
    if not played:
        raise UsageError("these runs have no finished episode", hint=f"the run's command again, with --resume {runs[0].path}")
    makers = {family: maker for family in played if (maker := _maker(family, alone=len(played) == 1))}
    return {family: maker.report(gather(runs, family, tasks), wanted, published=published) for family, maker in makers.items()}


def _maker(family: str, *, alone: bool) -> ModuleType | None:
    """The family's own reports; a family without them is said and passed over, unless it is the only one."""
    try:
        return families.part(family, "report")
    except UsageError as lacking:
        if alone:
            raise
        say(str(lacking))
        return None


def _show(tables: Sequence[Table]) -> None:
    for one in tables:
        show_table(one.header, one.cells(), title=f"\n{one.title}")
        for note in one.notes:
            say(f"  {note}")
