"""`harness import calbench FILE.jsonl`: published calendar tasks, one a line, as folders of ours.

Nothing is written from a file with a broken line, nor with a task that nobody can solve, unless that is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from harness.authoring.importing import File, Ids, Json, Out, Replace, chosen
from harness.console import emit, say
from harness.errors import quoted
from harness.families.calendar.authoring.calbench import read_tasks
from harness.families.calendar.authoring.claimed import Checked, checked, refuse_infeasible, summary
from harness.families.calendar.authoring.folders import write_task
from harness.families.calendar.commands.traces import import_trace

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
