"""`harness new`, `sync` and `release`: start a task folder, update its generated files, and pin the tasks of a release."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.atomic_write import writing
from harness.cli.tasks import Names, Trust
from harness.errors import GateFailed, UsageError
from harness.output import say
from harness.paths import ROOT, is_checkout, own_tasks
from harness.registry import Task, discover, tasks_root
from harness.trust import is_ours
from parley.proof.sandboxed_proof import choose_sandbox, instructed_apart
from parley.proof.sync import instructed, new_task, sync, task_folders, vouched
from parley.sharing import catalogue
from parley.sharing.release import PATH, differences, pin, release, written


def new_command(
    ctx: typer.Context,
    family: Annotated[str, typer.Argument(help="Family of the task, as in harness list --families.")],
    name: Annotated[str, typer.Argument(help="Name of the task, in lower case, digits and hyphens.")],
    fastapi: bool = typer.Option(False, "--fastapi", help="Write the server as a FastAPI app. Contract tasks only."),
) -> None:
    """Create a small task that passes `harness verify`, as a starting point."""
    path = new_task(drafts_root(ctx.obj["tasks"]), family, name, "fastapi" if fastapi else "")
    say(f"wrote {path}")
    say(f"  try: harness verify {name}")
    say(f"  then: edit the files that CONTRIBUTING.md lists, and run harness sync {name} and harness verify {name}")


def sync_command(ctx: typer.Context, names: Names = None, trust: Trust = False) -> None:
    """Update boilerplate, world.json and the seed-0 instruction, and remove files of earlier templates."""
    folders = task_folders(tasks_root(ctx.obj["tasks"]), names or ())
    outside = [folder for folder in folders if not trust and not is_ours(folder)]
    sandbox = choose_sandbox("auto", say) if outside else None
    changed: list[Path] = []
    for folder in folders:
        if sandbox is not None and folder in outside:
            say(f"{folder} is not part of Parley, so its world runs in {sandbox.name}; --trust runs it in this process")
            changed += sync(folder, partial(instructed_apart, sandbox))
        else:
            changed += sync(folder, vouched if trust else instructed)
    for path in changed:
        say(f"{'wrote' if path.exists() else 'removed'} {path}")
    say(f"{len(changed)} files changed")


def drafts_root(explicit: Path | None = None) -> Path:
    """Return the folder for new tasks: the tasks root, or `tasks` in this folder if that root is an installed package."""
    root = tasks_root(explicit)
    return root if is_checkout() or root not in own_tasks() else Path("tasks")


REGISTRY = ROOT / "registry.json"
"""The file in which Harbor looks for the datasets of a repository."""


def release_command(
    ctx: typer.Context,
    check: bool = typer.Option(False, "--check", help="Write nothing. Report differences from the recorded list."),
) -> None:
    """Write the list of tasks and digests, and registry.json, from the tasks folder."""
    tasks = discover(tasks_root(ctx.obj["tasks"]))
    changes = list(differences(release(), tasks))
    registry = _registry(tasks)
    for line in changes:
        say(line)
    if check and changes:
        raise GateFailed(f"{len(changes)} tasks differ from {PATH.name}", hint="harness release")
    if check and (not REGISTRY.is_file() or REGISTRY.read_text(encoding="utf-8") != registry):
        raise GateFailed(f"{REGISTRY.name} does not match the tasks", hint="harness release")
    if not check:
        for path, text in ((PATH, written(pin(tasks))), (REGISTRY, registry)):
            with writing(path):
                path.write_text(text, encoding="utf-8")
    say(f"{len(tasks)} tasks {'are' if check else 'pinned,'} {'as pinned' if check else f'{len(changes)} of them changed'}")


def _registry(tasks: Sequence[Task]) -> str:
    """Return registry.json of this checkout. Raises UsageError for tasks outside it."""
    if not is_checkout():
        raise UsageError("a release can be recorded only in a checkout of the project, and this is the installed package")
    if outside := [task for task in tasks if not task.path.is_relative_to(ROOT)]:
        raise UsageError(f"{outside[0].path} lies outside {ROOT}, and a release lists the tasks of its own checkout")
    return catalogue.registry(tasks, lambda task: task.path.relative_to(ROOT).as_posix())
