"""`harness list`: list tasks or families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import typer

from harness.cli.tasks import Json, Names, selected
from harness.output import emit
from harness.plugins import families, family_part_or_none
from harness.registry import Task
from harness.tables import show_table

SEEDS = "0-9"
"""Seeds of a routine check (`harness verify`), unless a family's `authoring.routine` names others."""


def list_command(
    ctx: typer.Context,
    names: Names = None,
    by_family: bool = typer.Option(False, "--families", help="List families instead of tasks."),
    json: Json = False,
) -> None:
    """List tasks, one row per task or per family."""
    tasks = selected(ctx, names)
    rows = _families(tasks) if by_family else [row(task) for task in tasks]
    if json:
        emit(rows)
    elif by_family:
        show_table(("family", "tasks", "seeds"), [tuple(one.values()) for one in rows])
    else:
        _show(rows)


def _show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the tasks of each family below a line with its name and their number."""
    for number, family in enumerate(dict.fromkeys(one["family"] for one in rows)):
        mine = [one for one in rows if one["family"] == family]
        columns = ["task_id", "difficulty", *(["certificate"] if any(one["certificate"] for one in mine) else [])]
        heading = f"{family}: {len(mine)} task{'s' * (len(mine) > 1)}"
        # some tasks lack these values
        cells = [["-" if one[column] is None else one[column] for column in columns] for one in mine]
        if number:
            print()
        show_table((heading, *columns[1:]), cells)


def _families(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return each family with tasks or parts, with the number of its tasks here and the seeds of a routine check."""
    counted = {**dict.fromkeys(families(), 0), **Counter(task.family for task in tasks)}
    routine = {name: family_part_or_none(name, "authoring.routine") for name in counted}
    return [
        {"family": name, "tasks": count, "seeds": part.SEEDS if (part := routine[name]) else SEEDS}
        for name, count in sorted(counted.items())
    ]


def row(task: Task) -> dict[str, Any]:
    """Return a task as a row: id, family, difficulty, certificate, path."""
    ours = task.parley
    return {
        "task_id": task.task_id,
        "family": task.family,
        "difficulty": ours.difficulty if ours else task.file.metadata.other.get("difficulty"),
        "certificate": ours.certificate if ours else None,
        "path": str(task.path),
    }
