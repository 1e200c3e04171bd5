"""`harness verify`, `new` and `sync`: prove tasks, start one, keep their boilerplate."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.agents.solutions import SolutionAgent
from harness.attacks.suite import one_of_each_machine
from harness.authoring.apart import instructed_apart
from harness.authoring.mutations import matrix
from harness.authoring.new import new_task
from harness.authoring.proof import verify
from harness.authoring.report import Report, TaskProof
from harness.authoring.sync import instructed, sync, task_folders, vouched
from harness.cli.attacks import attack_tasks
from harness.cli.console import emit, say, show_table
from harness.cli.tasks import Json, Names, Trust, gated
from harness.errors import TaskInvalid
from harness.granted import grant
from harness.plan import parse_seeds
from harness.registry import Task, tasks_root
from harness.runtimes.base import Runtime, SandboxedRuntime
from harness.runtimes.choose import SANDBOXES, choose_runtime, choose_sandbox
from harness.trust import is_ours

_SHOWN = 40


def verify_command(
    ctx: typer.Context,
    names: Names = None,
    seeds: Annotated[str | None, typer.Option(help="Of each task's own seeds these; all unless given.")] = None,
    runtime: Annotated[
        str, typer.Option(help="inprocess; docker or bubblewrap, or both with a comma, add the same clients there.")
    ] = "inprocess",
    workers: Annotated[int, typer.Option("--workers", "-n", min=1, help="Processes, and episodes at once.")] = 2,
    sample: Annotated[
        bool,
        typer.Option(
            help="In containers only oracle, nop and one violation of each task on its first seed; ten of tasks that are data. "
            "With --attacks one folder of each kind of machine."
        ),
    ] = False,
    mutations: Annotated[bool, typer.Option(help="Play each oracle behind the five path mutations instead.")] = False,
    changed_first: Annotated[bool, typer.Option(help="Begin with folders that differ from the main branch.")] = False,
    attacks: Annotated[
        bool, typer.Option("--attacks", help="Attack the tasks instead, in --runtime, else in the best.")
    ] = False,
    env: Annotated[
        list[str] | None, typer.Option("--env", help="NAME of a variable of this host that a foreign task may be given.")
    ] = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Prove tasks; exit 4 and say path, line and rule when one does not hold."""
    gate = gated(ctx, names, trust=trust)
    tasks = grant(_changed_first(gate.tasks) if changed_first else gate.tasks, env or ())
    if mutations:
        gate.demand("harness verify --mutations")
        _mutations(tasks, json=json)
        return
    if attacks:
        attacked = one_of_each_machine(tasks) if sample else tasks
        attack_tasks(attacked, "auto" if runtime == "inprocess" else runtime, workers=workers, json=json)
        return
    runtimes, chosen = _runtimes(runtime, tasks), parse_seeds(seeds) if seeds else None
    sandbox = _sandbox(runtime) if gate.outside else None
    for line in gate.told(sandbox.name if sandbox else ""):
        say(line)
    proved = verify(tasks, chosen, runtimes=runtimes, sandbox=sandbox, workers=workers, sample=sample, progress=_tell)
    if json:
        emit({**proved.model_dump(mode="json"), "ok": proved.ok})
    else:
        _show(proved)
    if not proved.ok:
        wrong = sum(not task.ok for task in proved.tasks)
        raise TaskInvalid(f"{wrong} of {len(proved.tasks)} tasks do not hold")


def _mutations(tasks: Sequence[Task], *, json: bool) -> None:
    """The matrix of tasks and mutations; exit 4 where a label is not the predicted one."""
    cells = matrix(tasks)
    wrong = [cell for cell in cells if not cell.ok]
    if json:
        emit({"ok": not wrong, "cells": [cell.model_dump() for cell in cells]})
    else:
        biting = [cell for cell in cells if cell.bites]
        rows = [(c.task_id, c.mutation, c.predicted, c.direct, c.handled, "ok" if c.ok else "WRONG") for c in (*biting, *wrong)]
        show_table(("task", "mutation", "predicted", "direct pass", "by handles", ""), dict.fromkeys(rows))
        healed = sum(cell.handled == "SUCCESS" for cell in biting)
        say(f"{len(biting)} of {len(cells)} pairs of task and mutation bite; value handles heal {healed} of them")
    if wrong:
        raise TaskInvalid(f"{len(wrong)} labels are not the predicted ones")


def new_command(
    ctx: typer.Context,
    family: Annotated[str, typer.Argument(help="The family, e.g. contract.")],
    name: Annotated[str, typer.Argument(help="Lower case, digits and hyphens.")],
) -> None:
    """Write a small task that verifies at once, to be changed into yours."""
    path = new_task(tasks_root(ctx.obj["tasks"]), family, name)
    say(f"wrote {path}")
    say(f"  try: harness verify {name}")
    say("  then: change task.toml, what is in environment/api, and what else is yours (CONTRIBUTING.md); harness sync; verify")


def sync_command(ctx: typer.Context, names: Names = None, trust: Trust = False) -> None:
    """Rewrite boilerplate, world.json and the seed-0 instruction; says which files changed."""
    folders = task_folders(tasks_root(ctx.obj["tasks"]), names or ())
    outside = [folder for folder in folders if not trust and not is_ours(folder)]
    sandbox = _sandbox("auto") if outside else None
    changed: list[Path] = []
    for folder in folders:
        if sandbox is not None and folder in outside:
            say(f"the world of {folder}, not this harness's own, runs in {sandbox.name}; --trust runs it here")
            changed += sync(folder, partial(instructed_apart, sandbox))
        else:
            changed += sync(folder, vouched if trust else instructed)
    for path in changed:
        say(f"wrote {path}")
    say(f"{len(changed)} files changed")


def _sandbox(names: str) -> SandboxedRuntime:
    """Where tasks from elsewhere are proved: in the first of the sandboxes that were asked for, else the best there is."""
    return choose_sandbox(next((name for name in names.split(",") if name in SANDBOXES), "auto"), say)


def _runtimes(names: str, tasks: Sequence[Task]) -> list[Runtime]:
    """The runtimes that were asked for, swept; each task is prepared for them when its turn comes."""
    chosen = [choose_runtime(name, tasks, [SolutionAgent()], say) for name in names.split(",") if name != "inprocess"]
    for runtime in chosen:
        runtime.sweep()
    return chosen


def _tell(proved: TaskProof) -> None:
    counted = f"{len(proved.checks)} checks in {proved.seconds:.1f} s"
    say(f"{proved.task_id}: {'ok' if proved.ok else f'{len(proved.failed)} failed'}, {counted}")


def _show(report: Report) -> None:
    findings = [str(finding) for finding in report.findings()]
    for line in findings[:_SHOWN]:
        print(line)
    if len(findings) > _SHOWN:
        say(f"and {len(findings) - _SHOWN} more findings; harness verify --json has all")
    rows = [
        (task.task_id, "ok" if task.ok else "FAILED", len(task.checks), len(task.failed), f"{task.seconds:.1f}")
        for task in report.tasks
    ]
    show_table(("task", "verdict", "checks", "failed", "seconds"), rows)
    say(f"{sum(task.ok for task in report.tasks)} of {len(report.tasks)} tasks hold, {report.seconds:.1f} s")


def _changed_first(tasks: Sequence[Task]) -> list[Task]:
    """Tasks with files that differ from the merge base with main, then the others; registry order within each."""
    names = _changed_files()
    changed = [task for task in tasks if any(task.path in (Path.cwd() / name).parents for name in names)]
    return [*changed, *(task for task in tasks if task not in changed)]


def _changed_files() -> list[str]:
    """Names of files changed since main, relative to the checkout; none where git cannot say."""
    for base in ("origin/main", "main~1"):
        done = subprocess.run(["git", "diff", "--name-only", f"{base}..."], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.splitlines()
    return []
