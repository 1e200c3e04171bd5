"""`harness report`: a five-line summary of runs, or their tables on stdout, as files or as a page; `harness leaderboard`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.atomic_write import make_folder, writing
from harness.cli.tasks import Json
from harness.errors import HarnessError, UsageError, quoted
from harness.output import emit, say
from harness.registry import Task, survey, tasks_root
from harness.sanitize import printable
from harness.tables import show_table
from parley.reports import spent
from parley.reports.board import board
from parley.reports.brief import brief_lines, decision_tables, decisions
from parley.reports.evidence import Breadth, Run, gather, naming_misfits, read_runs
from parley.reports.table import Table, as_csv
from parley.reports.whole import WholeReport, caveats, make_report, refuse_unfinished
from parley.tables import say_notes

Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs.")]


def report_command(
    ctx: typer.Context,
    runs: Runs,
    table: list[str] | None = typer.Option(None, "--table", help="Table by name (see docs/reports.md), or all. Repeatable."),
    published: bool | None = typer.Option(
        None,
        "--published/--no-published",
        help="Show the papers' numbers of every model, or of none. Default: of the models in these runs.",
        show_default=False,
    ),
    all_tasks: bool = typer.Option(False, "--all-tasks", help="Show also rows of tasks that no run contains."),
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown on stdout."),
    csv: Path | None = typer.Option(
        None, "--csv", help="Write each table into this folder, or a single table into FILE.csv. - means stdout."
    ),
    html: Path | None = typer.Option(None, "--html", help="Write one HTML page with everything."),
    plot: Path | None = typer.Option(None, help="Write the figure of these tables as an SVG file; --figures writes several."),
    figures: Path | None = typer.Option(None, help="Write every figure of these tables into this folder, as SVG."),
    json: Json = False,
) -> None:
    """Summarize these runs; with any option, print the tables of every family in them."""
    # 10,000 episodes are half a million live objects; scanning them for garbage takes a third of the time
    gc.disable()
    _one_for_stdout({"--markdown": markdown, "--json": json, "--csv -": csv == Path("-")})
    damaged: list[HarnessError] = []
    read = read_runs(runs, damaged)
    if damaged and not any(run.results for run in read):
        _refuse(damaged)
    if plot is not None:
        with writing(plot):
            plot.parent.mkdir(parents=True, exist_ok=True)
    typed = {name for name in ctx.params if (source := ctx.get_parameter_source(name)) and source.name == "COMMANDLINE"}
    if typed <= {"runs"}:
        _sum_up(ctx, runs, read)
    else:
        breadth = Breadth(every_task=all_tasks, every_published=bool(published))
        made = _made(ctx, runs, read, table or [], published=published is not False, breadth=breadth)
        for line in made.silent:
            say(line)
        for path, write in ((plot, _draw), (figures, _draw_all), (html, _publish), (csv, _spread)):
            if path is not None:
                write(made, path)
        _print(made, json=json, markdown=markdown, tables=csv is None and html is None)
    if damaged:
        _refuse(damaged)


def _sum_up(ctx: typer.Context, runs: Sequence[Path], read: Sequence[Run]) -> None:
    """Print the report in five lines, below its caveats and the decision of a run that stopped early."""
    refuse_unfinished(read)
    with naming_misfits(read):
        for line in (*caveats(read), *(one.told() for one in decisions(runs)), *brief_lines(read, registry(ctx), runs)):
            print(printable(line))


def _made(
    ctx: typer.Context, runs: Sequence[Path], read: Sequence[Run], wanted: Sequence[str], *, published: bool, breadth: Breadth
) -> WholeReport:
    """Return the wanted tables of these runs, or every table that is not empty."""
    decided = decision_tables(decisions(runs))
    with naming_misfits(read):
        return make_report(read, registry(ctx), wanted, published=published, breadth=breadth, decided=decided)


def _print(made: WholeReport, *, json: bool, markdown: bool, tables: bool) -> None:
    """Print the report on stdout in the requested format."""
    if json:
        emit(made.document())
    elif markdown:
        print("\n".join([*(f"> {line}\n" for line in made.caveats), *(one.markdown() for one in made.closed)]), end="")
    elif tables:
        _show(made, print)


def _one_for_stdout(flags: Mapping[str, bool]) -> None:
    """Raise UsageError if several flags write to stdout."""
    meant = [name for name, typed in flags.items() if typed]
    if len(meant) > 1:
        raise UsageError(f"{' and '.join(meant)} both mean stdout; choose one")


def _refuse(damaged: Sequence[HarnessError]) -> None:
    """Print the episodes left out of the tables, and raise UsageError because the tables are incomplete."""
    for error in damaged:
        say(f"left out: {error}")
    number = f"{len(damaged)} episodes are" if len(damaged) > 1 else "an episode is"
    raise UsageError(f"{number} left out because of read errors", hint=damaged[0].hint)


def show_tables(ctx: typer.Context, runs: Sequence[Path], *, beside_json: bool) -> None:
    """Print every table of these runs that is not empty; on stderr if stdout is for a program."""
    _show(_made(ctx, runs, read_runs(runs), [], published=True, breadth=Breadth()), say if beside_json else print)


def _drawn(made: WholeReport) -> dict[str, str]:
    from parley.reports.page import every_figure  # noqa: PLC0415

    return every_figure(made)


def _draw(made: WholeReport, path: Path) -> None:
    """Write the only figure of these tables. Raises UsageError if there is none or more than one."""
    drawn = _drawn(made)
    if len(drawn) != 1:
        hint = f"--figures {quoted(path.parent)}, or --table NAME --plot {quoted(path)} for a table of one figure"
        raise UsageError(
            f"--plot draws one figure, and these tables have {len(drawn) or 'none'}", hint=f"harness report RUN {hint}"
        )
    _write(path, next(iter(drawn.values())), "drawn")


def _draw_all(made: WholeReport, folder: Path) -> None:
    """Write every figure of these tables. Raises UsageError if there is none."""
    drawn = _drawn(made)
    if not drawn:
        raise UsageError("these tables have no figure", hint=f"harness report RUN --figures {quoted(folder)}, without --table")
    for name, svg in drawn.items():
        _write(folder / f"{name}.svg", svg, "drawn")


def _publish(made: WholeReport, path: Path) -> None:
    """Write the HTML page."""
    from parley.reports.page import as_page  # noqa: PLC0415

    _write(path, as_page(made, path.parent), "written")


def _spread(made: WholeReport, path: Path) -> None:
    """Write every table as a CSV file in a folder, or the only table as this file.

    Raises UsageError if there are several tables for one file.
    """
    if path == Path("-") or path.suffix == ".csv":
        if len(made.tables) != 1:
            names = ", ".join(sorted({one.name for one in made.tables}))
            raise UsageError(f"one CSV file holds one table, and these runs have {names}", hint="--table NAME, or --csv FOLDER")
        text = as_csv(made.tables[0])
        if path == Path("-"):
            print(text, end="")
        else:
            _write(path, text, "written")
        return
    for section in made.sections:
        for name, text in _named(section.tables):
            _write(path / f"{section.family}-{name}.csv", text, "written")
    if made.closes or made.is_asked:
        _write(path / f"{spent.NAME}.csv", as_csv(made.spent), "written")


def _named(tables: Iterable[Table]) -> Iterable[tuple[str, str]]:
    """Yield each table as CSV by its name, with a number appended if several have the same name."""
    taken: dict[str, int] = {}
    for one in tables:
        taken[one.name] = taken.get(one.name, 0) + 1
        yield one.name if taken[one.name] == 1 else f"{one.name}-{taken[one.name]}", as_csv(one)


def _write(path: Path, text: str, what: str) -> None:
    with writing(path):
        make_folder(path.parent)
        path.write_text(text, encoding="utf-8")
    say(f"{what}: {path}")


def registry(ctx: typer.Context) -> list[Task]:
    """Return the tasks known to reports; a missing registry is reported and treated as empty."""
    try:
        return list(survey(tasks_root(ctx.obj["tasks"])).tasks)
    except HarnessError as error:
        say(f"no registry to compare the runs with: {error}")
        return []


def _show(made: WholeReport, tell: Callable[[str], None]) -> None:
    for line in made.caveats:
        tell(line)
    shown(made.tables, tell)
    if made.closes:
        tell("")
        for line in spent.lines(made.spent):
            tell(line)


def shown(tables: Sequence[Table], tell: Callable[[str], None]) -> None:
    """Print tables with their notes."""
    for one in tables:
        show_table(one.header, one.cells(), title=f"\n{one.title}", beside_json=tell is say)
        say_notes(one.notes, beside_json=tell is say)


def leaderboard_command(
    ctx: typer.Context,
    runs: Runs,
    published: Annotated[bool, typer.Option(help="Show the papers' numbers as references, without a rank.")] = True,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown on stdout.")] = False,
    json: Json = False,
) -> None:
    """Rank models over all families in these runs."""
    _one_for_stdout({"--markdown": markdown, "--json": json})
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
