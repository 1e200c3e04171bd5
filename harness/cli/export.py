"""`harness export`: tasks and episodes as other programs read them, or a family's texts as a start for --templates."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from os.path import commonpath
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.kinds import Kinds
from harness.cli.sharing import harbor_command
from harness.cli.viewers import FOR_VIEWERS, Folder, Runs, make_new
from harness.console import say, show_table
from harness.errors import UsageError
from harness.modules import family_part, family_part_or_none
from harness.reading import read_episode
from harness.records import Result, RunFolder
from harness.report.runs import planned_runs, read_runs
from harness.runs.templates import with_texts
from harness.writing import make_folder, write_file, writing
from worlds.core.texts import own_texts, placeholders

Family = Annotated[str, typer.Argument(metavar="FAMILY", help="calendar or hidden-profile.")]
Format = Annotated[str, typer.Option("--format", help="contractbench: the record of the paper's Appendix G.")]
Out = Annotated[Path | None, typer.Option(help="The file to write, whole or not at all; stdout unless given.")]


export_command = typer.Typer(cls=Kinds, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@export_command.command("episodes")
def episodes_command(runs: Runs, form: Format = "contractbench", out: Out = None) -> None:
    """Write first tries that were graded, a JSON object a line; others, and families without such records, are counted."""
    every = [result for run in read_runs(runs) for result in run.results]
    results = [result for result in every if family_part_or_none(result.family, "episodes") is not None]
    if every and not results:
        family_part(every[0].family, "episodes")
    chosen = [result for result in results if result.status == "graded" and result.hint is None]
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in _records(chosen, form)]
    _write("".join(lines), out)
    say(f"{len(lines)} episodes exported{f' to {out}' if out else ''}{_left_out(results, len(every) - len(results))}")


@export_command.command("trace")
def trace_command(runs: Runs, out: Folder) -> None:
    """Write games as files that can be played again (harness replay), one an episode; what has none is counted and named."""
    planned = planned_runs(runs)
    root, traced, other, refused = commonpath([path for path, _ in planned]), 0, 0, list[UsageError]()
    # one episode after the other, since there may be a hundred thousand
    for (path, plan), result in ((run, result) for run in planned for result in RunFolder(run[0]).results()):
        part = family_part_or_none(result.family, "trace")
        if part is None:
            other += 1
            continue
        if not traced:
            make_new(out)
        traced += 1
        try:
            text = part.exported_text(read_episode(RunFolder(path).episode(result.key)), plan.tasks.get(result.task_id, ""))
        except UsageError as error:
            refused.append(error)
            continue
        folder = out / os.path.relpath(path, root)
        with writing(folder):
            make_folder(folder)
            write_file(folder / f"{result.task_id}-s{result.seed}-a{result.attempt}.json", text.encode())
    if not traced:
        raise UsageError("these runs have no episode of a family that has traces", hint="harness run calendar --agent imap")
    say(f"{traced - len(refused)} traces in {out}{f', without {other} episodes of other families' if other else ''}")
    for refusal in refused:
        say(f"left out: {refusal}")
    if refused:
        raise UsageError(f"{len(refused)} episodes have no trace", hint=refused[0].hint)


@export_command.command("templates")
def templates_command(family: Family, out: Folder) -> None:
    """Write a family's own texts, ready to be changed and given to --templates, and say what each may name."""
    known = placeholders(family) if family in with_texts() else None
    if known is None:
        raise UsageError(f"the family {family} has no texts of seats; {', '.join(with_texts())} have")
    make_new(out)
    with writing(out):
        for name, text in own_texts(family).items():
            write_file(out / name, text.encode())
    rows = [(name, placeholder, held.doc) for name, may in known.items() for placeholder, held in may.items()]
    show_table(("file", "placeholder", "what it stands for"), rows)
    say(f"{len(known)} texts written to {out}")


export_command.command("harbor")(harbor_command)
for name, command in FOR_VIEWERS.items():
    export_command.command(name)(command)


def _records(results: Sequence[Result], form: str) -> Iterator[dict[str, Any]]:
    for result in results:
        known = family_part(result.family, "episodes").FORMATS
        if form not in known:
            raise UsageError(f"the family {result.family} has no format {form!r}; it has {', '.join(known)}")
        yield known[form](result)


def _left_out(results: Sequence[Result], others: int) -> str:
    ungraded = sum(result.status == "ungraded" for result in results)
    retries = sum(result.hint is not None and result.status == "graded" for result in results)
    counted = [
        f"{count} {what}"
        for count, what in ((ungraded, "ungraded"), (retries, "retries"), (others, "of families without such records"))
        if count
    ]
    return f"; left out: {', '.join(counted)}" if counted else ""


def _write(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, out)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None
