"""`harness import calbench FILE.jsonl`: published calendar tasks, one a line, as folders of ours.

Nothing is written from a file with a broken line.
"""

from __future__ import annotations

from pathlib import Path

from harness.authoring.importing import File, Ids, Json, Out, Replace, chosen
from harness.console import emit, say
from harness.families.calendar.authoring.calbench import read_tasks
from harness.families.calendar.authoring.folders import write_task
from harness.families.calendar.commands.traces import import_trace

IMPORTED = Path("imported/calendar")


def import_calbench(file: File, out: Out = None, ids: Ids = None, replace: Replace = False, json: Json = False) -> None:
    """Calendar tasks, one a line."""
    folder = out or IMPORTED
    tasks = chosen(list(read_tasks(file)), lambda task: (task.task_id, task.name), ids, file)
    paths = [write_task(folder, task.name, task.scenario, task.difficulty, replace=replace) for task in tasks]
    if json:
        pairs = zip(tasks, paths, strict=True)
        emit([{"task_id": task.name, "published_id": task.task_id, "path": str(path)} for task, path in pairs])
        return
    say(f"{len(tasks)} tasks in {folder}")
    say(f"  try: harness --tasks {folder.parent} list")


KINDS = {"calbench": import_calbench, "trace": import_trace}
