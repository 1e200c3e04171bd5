"""`harness report`: the tables of one or many runs, on stdout: drawn, in lines, as Markdown or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from harness.cli.tasks import Json
from harness.console import emit, say, show_table
from harness.errors import HarnessError, UsageError
from harness.modules import family_part, family_part_or_none
from harness.registry import Task, discover, tasks_root
from harness.report import early
from harness.report.evidence import gather
from harness.report.runs import Run, read_runs
from harness.report.statistics import need_scipy
from harness.report.table import Table
from harness.writing import writing

Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or of folders of runs.")]
Wanted = Annotated[
    list[str] | None,
    typer.Option("--table", help="A table by name (docs/reports.md has them, by family), or all; repeatable."),
]
Plot = Annotated[Path | None, typer.Option(help="Write the one figure of these tables as SVG.")]
Figures = Annotated[Path | None, typer.Option(help="Write every figure of these tables into this folder, as SVG.")]


def report_command(
    ctx: typer.Context,
    runs: Runs,
    table: Wanted = None,
    published: Annotated[bool, typer.Option(help="The paper's numbers beside ours, marked as published.")] = True,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on stdout.")] = False,
    plot: Plot = None,
    figures: Figures = None,
    json: Json = False,
) -> None:
    """Make the tables of every family in these runs that has reports."""
    if markdown and json:
        raise UsageError("--markdown and --json both mean stdout; choose one")
    wanted = table or []
    need_scipy()
    damaged: list[HarnessError] = []
    read = read_runs(runs, damaged)
    if damaged and not any(run.results for run in read):
        _refuse(damaged)
    if plot is not None:
        with writing(plot):
            plot.parent.mkdir(parents=True, exist_ok=True)
    by_family = _tables(read, registry(ctx), wanted, published=published)
    made = [*early.tables(early.decisions(runs)), *_all(by_family)]
    if plot is not None:
        _draw(by_family, plot)
    if figures is not None:
        _draw_all(by_family, figures)
    if json:
        emit({"runs": [str(run.path) for run in read], "tables": [one.document() for one in made]})
    elif markdown:
        print("\n".join(one.markdown() for one in made), end="")
    else:
        shown(made, print)
    if damaged:
        _refuse(damaged)


def _refuse(damaged: Sequence[HarnessError]) -> None:
    """Name the episodes that are in no table; raises UsageError, since the tables are not all that these runs hold."""
    for error in damaged:
        say(f"left out: {error}")
    number = f"{len(damaged)} episodes are" if len(damaged) > 1 else "an episode is"
    raise UsageError(f"{number} left out, which cannot be read", hint=damaged[0].hint)


def show_tables(ctx: typer.Context, runs: Sequence[Path], *, beside_json: bool) -> None:
    """Print every table that has something to say of these runs; on stderr where stdout is a program's."""
    need_scipy()
    made = _all(_tables(read_runs(runs), registry(ctx), [], published=True))
    shown([*early.tables(early.decisions(runs)), *made], say if beside_json else print)


def _all(by_family: Mapping[str, Sequence[Table]]) -> list[Table]:
    return [table for tables in by_family.values() for table in tables]


def _draw(by_family: Mapping[str, Sequence[Table]], path: Path) -> None:
    """Write the one figure that these tables have; raises UsageError where there is none, or no one."""
    drawn = list(_figures(by_family).values())
    if len(drawn) != 1:
        raise UsageError(
            f"--plot draws one figure, and these tables have {len(drawn) or 'none'}",
            hint=f"harness report RUN --figures {path.parent}, or --table NAME --plot {path} for a table of one figure",
        )
    _write(path, drawn[0])


def _draw_all(by_family: Mapping[str, Sequence[Table]], folder: Path) -> None:
    """Write every figure that these tables have; raises UsageError where there is none."""
    drawn = _figures(by_family)
    if not drawn:
        raise UsageError("these tables have no figure", hint=f"harness report RUN --figures {folder}, without --table")
    for name, svg in drawn.items():
        _write(folder / f"{name}.svg", svg)


def _figures(by_family: Mapping[str, Sequence[Table]]) -> dict[str, str]:
    """Each figure of each family that has what it needs in these tables, by the names of both."""
    return {
        f"{family}-{name}": svg
        for family, tables in by_family.items()
        if (figure := family_part_or_none(family, "figure"))
        for name, draw in figure.FIGURES.items()
        if (svg := draw({table.name: table for table in tables})) is not None
    }


def _write(path: Path, svg: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg, encoding="utf-8")
    say(f"drawn: {path}")


def registry(ctx: typer.Context) -> list[Task]:
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
        return family_part(family, "report")
    except UsageError as lacking:
        if alone:
            raise
        say(str(lacking))
        return None


def shown(tables: Sequence[Table], tell: Callable[[str], None]) -> None:
    """Print tables with their notes."""
    for one in tables:
        show_table(one.header, one.cells(), title=f"\n{one.title}", beside_json=tell is say)
        for note in one.notes:
            tell(f"  {note}")
