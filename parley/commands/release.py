"""`harness release`: pin the tasks of a release, which a complete run has to cover, and list them for Harbor."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from harness.atomic_write import writing
from harness.errors import GateFailed, UsageError
from harness.output import say
from harness.paths import ROOT, is_checkout
from harness.registry import Task, discover, tasks_root
from parley.sharing import catalogue
from parley.sharing.release import PATH, differences, pin, release, written

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
