"""`harness export episodes`: the graded episodes of runs as records that other programs read, one JSON object a line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.console import say
from harness.errors import UsageError
from harness.modules import family_part
from harness.records import Result
from harness.report.runs import read_runs

What = Annotated[str, typer.Argument(metavar="episodes", help="What to export; there are episodes.")]
Runs = Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or of folders of runs.")]
Format = Annotated[str, typer.Option("--format", help="contractbench: the record of the paper's Appendix G.")]
Out = Annotated[Path | None, typer.Option(help="The file to write, whole or not at all; stdout unless given.")]


def export_command(what: What, runs: Runs, form: Format = "contractbench", out: Out = None) -> None:
    """Write first tries that were graded; ungraded episodes and retries are counted on stderr and left out."""
    if what != "episodes":
        raise UsageError(f"there is no export of {what!r}; there is: episodes", hint="harness export episodes RUN")
    results = [result for run in read_runs(runs) for result in run.results]
    chosen = [result for result in results if result.status == "graded" and result.hint is None]
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in _records(chosen, form)]
    _write("".join(lines), out)
    say(f"{len(lines)} episodes exported{f' to {out}' if out else ''}{_left_out(results)}")


def _records(results: Sequence[Result], form: str) -> Iterator[dict[str, Any]]:
    for result in results:
        known = family_part(result.family, "episodes").FORMATS
        if form not in known:
            raise UsageError(f"the family {result.family} has no format {form!r}; it has {', '.join(known)}")
        yield known[form](result)


def _left_out(results: Sequence[Result]) -> str:
    ungraded = sum(result.status == "ungraded" for result in results)
    retries = sum(result.hint is not None and result.status == "graded" for result in results)
    counted = [f"{count} {what}" for count, what in ((ungraded, "ungraded"), (retries, "retries")) if count]
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
