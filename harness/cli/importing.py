"""`harness import calbench FILE.jsonl`, `harness import hiddenbench FILE.json`: published tasks as folders of ours."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Annotated

import typer

from harness.authoring.calendar.calbench import read_tasks
from harness.authoring.calendar.folders import write_task
from harness.cli.console import emit, say
from harness.cli.profiles import import_hiddenbench
from harness.errors import UsageError

CALENDAR = Path("imported/calendar")

What = Annotated[str, typer.Argument(metavar="calbench|hiddenbench", help="The format.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="calbench: one task a line; hiddenbench: one JSON array.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the task folders, imported/FAMILY unless given; its parent is what --tasks takes."),
]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only tasks whose published id, or folder, matches (repeatable).")]
Replace = Annotated[bool, typer.Option("--replace", help="Write folders of the same task anew where they differ.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def import_command(
    what: What, file: File, out: Out = None, ids: Ids = None, replace: Replace = False, json: Json = False
) -> None:
    """Read every line, then write; nothing is written from a file with a broken line."""
    if what == "hiddenbench":
        import_hiddenbench(file, out, ids or [], replace=replace, json=json)
        return
    if what != "calbench":
        raise UsageError(
            f"there is no import of {what!r}; there are: calbench, hiddenbench", hint="harness import calbench FILE.jsonl"
        )
    _import_calbench(file, out or CALENDAR, ids, replace=replace, json=json)


def _import_calbench(file: Path, out: Path, ids: list[str] | None, *, replace: bool, json: bool) -> None:
    tasks = list(read_tasks(file))
    chosen = [task for task in tasks if not ids or any(_matches(name, ids) for name in (task.task_id, task.name))]
    if not chosen:
        raise UsageError(
            f"none of the {len(tasks)} tasks of {file} is called {' or '.join(ids or [])}; e.g. {tasks[0].task_id}"
        )
    paths = [write_task(out, task.name, task.scenario, task.difficulty, replace=replace) for task in chosen]
    if json:
        pairs = zip(chosen, paths, strict=True)
        emit([{"task_id": task.name, "published_id": task.task_id, "path": str(path)} for task, path in pairs])
        return
    say(f"{len(chosen)} tasks in {out}")
    say(f"  try: harness --tasks {out.parent} list")


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
