"""Selection of tasks by the names on a command line."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated

import typer

from harness.output import say
from harness.refusals import TaskInvalid
from harness.registry import Task, select, survey, tasks_root

Names = Annotated[list[str] | None, typer.Argument(help="Task ids, globs or families. Default: all tasks.")]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Run code of task folders that are not part of Parley in this process, without a sandbox."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def selected(ctx: typer.Context, names: list[str] | None) -> list[Task]:
    """Return the tasks that a command line names. Raises UnknownTask or TaskInvalid.

    Unreadable folders are reported, one line each, if all tasks or a matching glob are named.
    """
    root = tasks_root(ctx.obj["tasks"])
    known = survey(root, names or ())
    chosen = select(known.tasks, names or [], known.refused)
    if not chosen and len(known.refused) == 1:
        raise known.refused[0].why
    for one in known.refused:
        if not names or any(fnmatchcase(one.path.name, name) for name in names):
            say(f"left out: {one.why}" + (f"; try: {one.why.hint}" if one.why.hint else ""))
    if not chosen:
        raise TaskInvalid(f"{root} contains no readable task", hint="harness --tasks PATH list")
    return chosen
