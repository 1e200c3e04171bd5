"""Arguments that all `harness import` commands share: a file, the target folder, and a selection of tasks."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from harness.errors import UsageError

File = Annotated[Path, typer.Argument(metavar="FILE", help="The published file.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the task folders, imported/FAMILY unless given; its parent is what --tasks takes."),
]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only tasks whose published id, or folder, matches (repeatable).")]
Replace = Annotated[bool, typer.Option("--replace", help="Write folders of the same task anew where they differ.")]


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
