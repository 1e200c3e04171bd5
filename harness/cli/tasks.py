"""`harness list`: what there is, and how other commands choose among it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from harness.console import emit, show_table
from harness.modules import families, family_part_or_none
from harness.registry import Task, discover, select, tasks_root
from harness.trust import TrustGate, gate

Names = Annotated[list[str] | None, typer.Argument(help="Ids, globs or families; none means all.")]
Trust = Annotated[bool, typer.Option("--trust", help="Run code of folders that are not this harness's own in this process.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

SEEDS = "0-9"
"""Of a routine proof, where a family's `authoring.routine` names no others."""


def selected(ctx: typer.Context, names: list[str] | None) -> list[Task]:
    """The tasks a command line names; raises UnknownTask or TaskInvalid."""
    return select(discover(tasks_root(ctx.obj["tasks"])), names or [])


def gated(ctx: typer.Context, names: list[str] | None, *, trust: bool) -> TrustGate:
    """The tasks a command line names, and what it may do with the code in their folders."""
    return gate(selected(ctx, names), trust=trust)


def list_command(
    ctx: typer.Context,
    names: Names = None,
    by_family: Annotated[bool, typer.Option("--families", help="One row a family instead.")] = False,
    json: Json = False,
) -> None:
    """One row a task, or a family."""
    tasks = selected(ctx, names)
    rows = _families(tasks) if by_family else [row(task) for task in tasks]
    if json:
        emit(rows)
        return
    columns = ["family", "tasks", "seeds"] if by_family else ["task_id", "family", "difficulty"]
    if any(one.get("certificate") for one in rows):
        columns.append("certificate")
    header = [column.removesuffix("_id") for column in columns]
    # a task of which nothing is said stands beside those that are uncertified
    show_table(header, [[one[column] or "-" if column == "certificate" else one[column] for column in columns] for one in rows])


def _families(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Each family that has tasks or parts: how many of these tasks are its own, and the seeds that a routine proof takes."""
    counted = {**dict.fromkeys(families(), 0), **Counter(task.family for task in tasks)}
    routine = {name: family_part_or_none(name, "authoring.routine") for name in counted}
    return [
        {"family": name, "tasks": count, "seeds": part.SEEDS if (part := routine[name]) else SEEDS}
        for name, count in sorted(counted.items())
    ]


def row(task: Task) -> dict[str, Any]:
    """A task in a line: id, family, difficulty, whether it is uncertified, path."""
    ours = task.parley
    return {
        "task_id": task.task_id,
        "family": task.family,
        "difficulty": ours.difficulty if ours else None,
        "certificate": ours.certificate if ours else None,
        "path": str(task.path),
    }
