"""Arguments that all `harness import` commands share: a file, the target folder, and a selection of tasks."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from harness.errors import UsageError

File = Annotated[Path, typer.Argument(metavar="FILE", help="Published file to import.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the task folders. Default: imported/FAMILY. Pass its parent to --tasks."),
]
Ids = Annotated[
    list[str] | None, typer.Option("--id", help="Import only tasks whose published id or folder matches this glob. Repeatable.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Rewrite existing folders of the same tasks if they differ.")]


T = TypeVar("T")


def chosen(tasks: Sequence[T], names: Callable[[T], Iterable[str]], ids: Sequence[str] | None, file: Path) -> list[T]:
    """Return the tasks with a name that matches an id, or all without ids. Raises UsageError if none matches."""
    wished = [
        task for task in tasks if not ids or any(fnmatch.fnmatchcase(name, wanted) for name in names(task) for wanted in ids)
    ]
    if not wished:
        example = next(iter(names(tasks[0])))
        raise UsageError(f"none of the {len(tasks)} tasks of {file} is called {' or '.join(ids or [])}; e.g. {example}")
    return wished
