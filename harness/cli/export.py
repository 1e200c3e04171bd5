"""`harness export`: tasks and episodes as other programs read them, or a family's texts as a start for --templates."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import commonpath
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from harness.cli.kinds import Kinds
from harness.cli.sharing import harbor_command
from harness.cli.viewers import FOR_VIEWERS, Folder, Runs, make_new
from harness.console import say, show_table
from harness.errors import UsageError
from harness.modules import family_part, family_part_or_none
from harness.reading import read_episode
from harness.records import RunFolder
from harness.report.evidence import planned_runs
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
    counted = Counter[str]()
    with _lines_of(out) as file:
        for record in _records(runs, form, counted):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    left = ", ".join(f"{counted[what]} {what}" for what in _LEFT_OUT if counted[what])
    say(f"{counted[_EXPORTED]} episodes exported{f' to {out}' if out else ''}{f'; left out: {left}' if left else ''}")


@export_command.command("trace")
def trace_command(runs: Runs, out: Folder) -> None:
    """Write games as files that can be played again (harness replay), one an episode; what has none is counted and named."""
    planned = planned_runs(runs)
    root, traced, other, refused = commonpath([path for path, _ in planned]), 0, 0, list[tuple[str, str]]()
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
            # an error itself holds all that was being done, the episode with it
            refused.append((str(error), error.hint or ""))
            continue
        folder = out / os.path.relpath(path, root)
        with writing(folder):
            make_folder(folder)
            write_file(folder / f"{result.task_id}-s{result.seed}-a{result.attempt}.json", text.encode())
    if not traced:
        raise UsageError("these runs have no episode of a family that has traces", hint="harness run calendar --agent imap")
    say(f"{traced - len(refused)} traces in {out}{f', without {other} episodes of other families' if other else ''}")
    for refusal, _ in refused:
        say(f"left out: {refusal}")
    if refused:
        raise UsageError(f"{len(refused)} episodes have no trace", hint=refused[0][1])


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


_LEFT_OUT = _UNGRADED, _RETRIES, _OTHERS = "ungraded", "retries", "of families without such records"
_EXPORTED = "exported"


def _records(runs: Sequence[Path], form: str, counted: Counter[str]) -> Iterator[dict[str, Any]]:
    """A record an episode; `counted` is told how many there are, and how many are left out why."""
    other = ""
    for result in (result for path, _ in planned_runs(runs) for result in RunFolder(path).results()):
        part = family_part_or_none(result.family, "episodes")
        if part is None:
            other = other or result.family
            counted[_OTHERS] += 1
        elif result.status == "ungraded":
            counted[_UNGRADED] += 1
        elif result.hint is not None:
            counted[_RETRIES] += 1
        elif form not in part.FORMATS:
            raise UsageError(f"the family {result.family} has no format {form!r}; it has {', '.join(part.FORMATS)}")
        else:
            counted[_EXPORTED] += 1
            yield part.FORMATS[form](result)
    if other and set(counted) == {_OTHERS}:
        family_part(other, "episodes")


@contextmanager
def _lines_of(out: Path | None) -> Iterator[TextIO]:
    """The file to write into, there once it is whole; stdout where none is named."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            yield file
        os.replace(beside, out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
