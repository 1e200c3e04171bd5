"""`harness import trace FILE... --out RUN`: traces of calendar games, ours or in the published layout, as a run.

What a file says of its own results is not taken over: the game is played again, and measured anew. Where a file in the
published layout tells another game than its replies come to by our rules, that is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.console import say
from harness.errors import UsageError, quoted
from harness.families.calendar.trace.folders import TracedGame, write_runs
from harness.families.calendar.trace.game import rebuilt
from harness.families.calendar.trace.replaying import read_trace, record_of
from harness.families.calendar.trace.upstream import is_upstream, read_upstream, upstream_game
from harness.families.calendar.trace.upstream_check import differing
from harness.reading.traces import read_document, trace_files

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Traces, or folders of them: ours, or in the layout of the paper's Appendix A.6."),
]
Out = Annotated[Path, typer.Option("--out", help="The folder of the run, new or empty.")]


def import_trace(files: Files, out: Out) -> None:
    """Traces of calendar games, as a run."""
    games = [_named(path, read_document(path)) for path in trace_files(files)]
    folders = write_runs(games, out)
    say(f"{len(games)} games in {out}{f', {len(folders)} runs' if len(folders) > 1 else ''}")
    say(f"  try: harness report {quoted(out)}")


def _named(path: Path, document: Any) -> TracedGame:
    try:
        return _game(path, document)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None


def _game(path: Path, document: Any) -> TracedGame:
    if is_upstream(document):
        trace = read_upstream(document)
        record, again = upstream_game(trace)
        wrong = list(differing(trace, again))
        if wrong:
            say(f"{path}: by our rules its replies come to another game in {len(wrong)} places, first {wrong[0]}")
        return TracedGame(path, record, again, ours=False)
    record = record_of(read_trace(document))
    return TracedGame(path, record, rebuilt(record), ours=True)
