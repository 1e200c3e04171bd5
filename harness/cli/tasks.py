"""`harness list` and `harness show`: what there is, and what one task asks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from harness import families
from harness.cli.console import emit, show_table
from harness.registry import Task, discover, select, tasks_root
from harness.trust import Gate, gate
from worlds.core.manifest import STANDARD_OPTIONS

Names = Annotated[list[str] | None, typer.Argument(help="Ids, globs or families; none means all.")]
Trust = Annotated[bool, typer.Option("--trust", help="Run code of folders that are not this harness's own in this process.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def selected(ctx: typer.Context, names: list[str] | None) -> list[Task]:
    """The tasks a command line names; raises UnknownTask or TaskInvalid."""
    return select(discover(tasks_root(ctx.obj["tasks"])), names or [])


def gated(ctx: typer.Context, names: list[str] | None, *, trust: bool) -> Gate:
    """The tasks a command line names, and what it may do with the code in their folders."""
    return gate(selected(ctx, names), trust=trust)


def list_command(ctx: typer.Context, names: Names = None, json: Json = False) -> None:
    """One row a task."""
    rows = [_row(task) for task in selected(ctx, names)]
    if json:
        emit(rows)
        return
    show_table(("task", "family", "difficulty"), [(r["task_id"], r["family"], r["difficulty"]) for r in rows], to_stdout=True)


def show_command(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A task id or a path.")],
    matrix: Annotated[bool, typer.Option("--matrix", help="Who knows what, and what it rules out (hidden-profile).")] = False,
    json: Json = False,
) -> None:
    """One task, whole."""
    (task, *_) = selected(ctx, [name])
    if matrix:
        _show_matrix(task, json=json)
        return
    if json:
        emit({**_row(task), "digest": task.digest, **task.file.model_dump(mode="json", exclude_defaults=True)})
        return
    _print(task)


def _show_matrix(task: Task, *, json: bool) -> None:
    tables = families.part(task.family, "matrix").matrix(task)
    if json:
        emit([table.document() for table in tables])
        return
    for table in tables:
        show_table(table.header, table.cells(), title=table.title, to_stdout=True)
        print("\n".join(table.notes))


def _row(task: Task) -> dict[str, Any]:
    ours = task.parley
    return {
        "task_id": task.task_id,
        "family": task.family,
        "difficulty": ours.difficulty if ours else None,
        "path": str(task.path),
    }


def _print(task: Task) -> None:
    ours = task.parley
    print(f"{task.task_id}  ({task.family})\n{task.file.task.description if task.file.task else ''}\n{task.path}\n")
    if ours is not None:
        print(f"difficulty {ours.difficulty}, axis {ours.category}, quadrant {ours.quadrant}, pattern {ours.pattern}")
        print(f"budget     {ours.budgets.steps} steps, {ours.budgets.virtual_seconds:g} virtual seconds")
        print(f"costs      {', '.join(f'{name} {seconds:g} s' for name, seconds in ours.costs.items())}")
        print(f"interfaces {', '.join(ours.interfaces)}; seeds {ours.seeds}")
        for option, spec in {**STANDARD_OPTIONS, **ours.options}.items():
            print(f"option     {option} = {spec.default} ({'|'.join(map(str, spec.values)) or spec.type}): {spec.doc}")
        for knob, spec_k in ours.knobs.items():
            print(f"knob       {knob} = {spec_k.default:g} ({spec_k.min:g}..{spec_k.max:g}): {spec_k.doc}")
    print("\n" + (task.path / "instruction.md").read_text(encoding="utf-8"))
