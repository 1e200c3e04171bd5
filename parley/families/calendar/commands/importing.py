"""The commands `harness import calbench` and `harness import trace`.

`harness import calbench FILE.jsonl`: published calendar tasks, one per line, as task folders. Nothing is written from a file
with a broken line, nor with an unsolvable task, unless that is requested.

`harness import trace FILE... --out RUN`: traces of calendar games, ours or in the published layout, as a run. Results in a file
are not trusted: the game is replayed and measured again. If a file in the published layout differs from the replay of its
replies by our rules, this is reported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.tasks import Json
from harness.errors import UsageError, quoted
from harness.output import emit, say
from parley.commands.sources import File, Ids, Out, Replace, chosen
from parley.families.calendar.authoring.calbench import Checked, checked, read_tasks, refuse_infeasible, summary
from parley.families.calendar.authoring.folders import write_task
from parley.families.calendar.trace.exporting import read_trace, record_of
from parley.families.calendar.trace.folders import TracedGame, write_runs
from parley.families.calendar.trace.game import rebuilt
from parley.families.calendar.trace.upstream import differing, is_upstream, read_upstream, upstream_game
from parley.reports.reading.model import read_document, trace_files

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Traces, or folders of them: ours, or in the layout of the paper's Appendix A.6."),
]
RunOut = Annotated[Path, typer.Option("--out", help="The folder of the run, new or empty.")]


def import_trace(files: Files, out: RunOut) -> None:
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


IMPORTED = Path("imported/calendar")

Infeasible = Annotated[bool, typer.Option("--allow-infeasible", help="Import tasks that no schedule solves, and mark them.")]


def import_calbench(
    file: File, out: Out = None, ids: Ids = None, infeasible: Infeasible = False, replace: Replace = False, json: Json = False
) -> None:
    """Calendar tasks, one a line."""
    folder = out or IMPORTED
    rows = checked(chosen(list(read_tasks(file)), lambda task: (task.task_id, task.name), ids, file))
    if not infeasible:
        refuse_infeasible(rows, file)
    paths = [_written(folder, row, replace=replace) for row in rows]
    if json:
        emit([{**_row(row), "path": str(path)} for row, path in zip(rows, paths, strict=True)])
        return
    say(f"{len(rows)} tasks in {folder}")
    for line in summary(rows):
        say(f"  {line}")
    say(f"  try: harness --tasks {quoted(folder.parent)} list")


def _written(folder: Path, row: Checked, *, replace: bool) -> Path:
    task = row.task
    return write_task(folder, task.name, task.scenario, task.difficulty, feasible=row.feasible, replace=replace)


def _row(row: Checked) -> dict[str, Any]:
    return {
        "task_id": row.task.name, "published_id": row.task.task_id, "feasible": row.feasible,
        "optimal_on_both_scales": row.certificate.shown_agrees, "speakers_drawn": row.task.drawn, "wrong_claims": row.wrong,
    }  # fmt: skip


KINDS = {"calbench": import_calbench, "trace": import_trace}
