"""The commands `harness import calbench` and `harness import trace`.

Nothing is written from a file of tasks with a broken line, or with an unsolvable task unless these are allowed. Results in a
trace are not trusted: the game is replayed and measured again. If a file in the published layout differs from the replay of its
replies by our rules, this is reported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.tasks import Json
from harness.errors import UsageError, quoted
from harness.output import emit, say
from parley.commands.sources import File, Ids, Out, Replace, chosen
from parley.families.calendar.authoring.calbench import checked, read_tasks, refuse_infeasible, summary
from parley.families.calendar.authoring.folders import write_task
from parley.families.calendar.trace.exporting import read_trace, record_of
from parley.families.calendar.trace.folders import TracedGame, write_runs
from parley.families.calendar.trace.game import rebuilt
from parley.families.calendar.trace.upstream import differing, is_upstream, read_upstream, upstream_game
from parley.reports.reading.model import read_document, trace_files


def import_trace(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Traces, or folders of traces, in Parley's layout or that of the paper's Appendix A.6."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the run, new or empty.")],
) -> None:
    """Import traces of calendar games as a run."""
    games = [_game(path) for path in trace_files(files)]
    folders = write_runs(games, out)
    say(f"{len(games)} games in {out}{f', {len(folders)} runs' if len(folders) > 1 else ''}")
    say(f"  try: harness report {quoted(out)}")


def _game(path: Path) -> TracedGame:
    document = read_document(path)
    try:
        if not is_upstream(document):
            record = record_of(read_trace(document))
            return TracedGame(path, record, rebuilt(record), ours=True)
        trace = read_upstream(document)
        record, again = upstream_game(trace)
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None
    if wrong := list(differing(trace, again)):
        say(f"{path}: replaying its replies by our rules gives a different game in {len(wrong)} places, first {wrong[0]}")
    return TracedGame(path, record, again, ours=False)


IMPORTED = Path("imported/calendar")


def import_calbench(
    file: File,
    out: Out = None,
    ids: Ids = None,
    infeasible: Annotated[
        bool, typer.Option("--allow-infeasible", help="Import also tasks that no schedule solves, and mark them.")
    ] = False,
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Import calendar tasks from a file with one task per line."""
    folder = out or IMPORTED
    rows = checked(chosen(list(read_tasks(file)), lambda task: (task.task_id, task.name), ids, file))
    if not infeasible:
        refuse_infeasible(rows, file)
    paths = [
        write_task(folder, one.name, one.scenario, one.difficulty, feasible=row.feasible, replace=replace)
        for row in rows
        for one in [row.task]
    ]
    if json:
        emit([
            {
                "task_id": row.task.name, "published_id": row.task.task_id, "feasible": row.feasible,
                "optimal_on_both_scales": row.certificate.shown_agrees, "speakers_drawn": row.task.drawn,
                "wrong_claims": row.wrong, "path": str(path),
            }
            for row, path in zip(rows, paths, strict=True)
        ])  # fmt: skip
        return
    say(f"{len(rows)} tasks in {folder}")
    for line in summary(rows):
        say(f"  {line}")
    say(f"  try: harness --tasks {quoted(folder.parent)} list")


KINDS = {"calbench": import_calbench, "trace": import_trace}
