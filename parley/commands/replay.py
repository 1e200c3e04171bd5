"""`harness replay`: replay recorded games from their traces alone, and check every recorded number."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from harness.cli.tasks import Json
from harness.errors import GateFailed, UsageError, quoted
from harness.output import emit
from harness.plugins import families, family_part_or_none
from harness.sanitize import printable
from parley.reports.reading.model import Replayed, read_document, trace_files

SHOWN = 10
"""Maximum number of differences that are printed per file."""


def replay_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Traces written by harness export trace, or folders of traces.")
    ],
    json: Json = False,
) -> None:
    """Replay recorded games from their traces alone, and report which results match."""
    replayed = {path: _replayed(path) for path in trace_files(files)}
    if json:
        emit([{"path": str(path), **one.model_dump(mode="json")} for path, one in replayed.items()])
    else:
        for path, one in replayed.items():
            _print(path, one)
    wrong = [path for path, one in replayed.items() if one.differences]
    if wrong:
        what = f"{wrong[0]} differs" if len(wrong) == 1 else f"{len(wrong)} of {len(replayed)} traces differ"
        raise GateFailed(f"{what} from a replay by the current rules", hint=f"harness replay {quoted(wrong[0])} --json")


def _replayed(path: Path) -> Replayed:
    document = read_document(path)
    part: Any = _reader(path, document)
    try:
        replayed: Replayed = part.replayed(document)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None
    return replayed


def _reader(path: Path, document: Any) -> ModuleType:
    """Return the `trace` part of the family of a trace. Raises UsageError if no family recognizes it."""
    traces = [module for family in families() if (module := family_part_or_none(family, "trace"))]
    for module in traces:
        if module.is_trace(document):
            return module
    raise UsageError(f"{path} is not a trace of any family", hint="harness export trace RUN --out DIR")


def _print(path: Path, replayed: Replayed) -> None:
    print(printable(f"{path}: {replayed.title}"))
    if replayed.agreed:
        print(printable(f"  equal: {', '.join(replayed.agreed)}"))
    for line in replayed.differences[:SHOWN]:
        print(printable(f"  {line}"))
    if len(replayed.differences) > SHOWN:
        print(f"  and {len(replayed.differences) - SHOWN} more differences")
    if replayed.unchecked:
        print(printable(f"  not checked: {', '.join(replayed.unchecked)}"))
