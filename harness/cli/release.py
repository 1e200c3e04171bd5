"""`harness release`: pins the tasks of a release, by which reports judge what is complete."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.console import say
from harness.errors import GateFailed
from harness.registry import discover, tasks_root
from harness.release import PATH, differences, pin, release, written
from harness.writing import writing


def release_command(
    ctx: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; say what differs from the pinned list.")] = False,
) -> None:
    """Write the pinned list of tasks and digests from the tasks folder."""
    tasks = discover(tasks_root(ctx.obj["tasks"]))
    changes = list(differences(release(), tasks))
    for line in changes:
        say(line)
    if check and changes:
        raise GateFailed(f"{len(changes)} tasks are not as {PATH.name} pins them", hint="harness release")
    if not check:
        with writing(PATH):
            PATH.write_text(written(pin(tasks)), encoding="utf-8")
    say(f"{len(tasks)} tasks {'are' if check else 'pinned,'} {'as pinned' if check else f'{len(changes)} of them changed'}")
