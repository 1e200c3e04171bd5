"""`harness new` and `harness sync`: start a task folder, and update its generated files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.tasks import Names, Trust
from harness.output import say
from harness.paths import is_checkout, own_tasks
from harness.registry import tasks_root
from harness.trust import is_ours
from parley.proof.new import new_task
from parley.proof.sandboxed_proof import choose_sandbox, instructed_apart
from parley.proof.sync import instructed, sync, task_folders, vouched


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
