"""`harness export harbor`: the tasks as a folder that Harbor, dataset hubs and trainers read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.tasks import Names, selected
from harness.console import say
from harness.errors import UsageError, quoted
from harness.sharing.bases import Bases, LocalBases, PinnedBases
from harness.sharing.folder import write_harbor
from harness.sharing.standalone import PLAIN_BASE, StandaloneBases

Where = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write, new or empty.")]
Pinned = Annotated[
    list[str] | None,
    typer.Option(
        "--images",
        metavar="REF",
        help="What harness images --push prints: a file of it, or PREFIX/ROOM@sha256:..., once a room.",
    ),
]
Alone = Annotated[bool, typer.Option("--standalone", help="Need no image of ours: each task carries what they are made of.")]
Base = Annotated[
    str | None, typer.Option("--base", metavar="IMAGE", help=f"The image below --standalone; {PLAIN_BASE} unless given.")
]


def harbor_command(
    ctx: typer.Context, out: Where, names: Names = None, images: Pinned = None, standalone: Alone = False, base: Base = None
) -> None:
    """Write tasks in Harbor's format, flat, with registry.json, dataset.toml, a card, eval.yaml and metric.py."""
    bases = _bases(images or [], base, standalone=standalone)
    tasks = selected(ctx, names)
    size = write_harbor(out, tasks, bases)
    say(f"{len(tasks)} tasks in {out}, {size / 1e6:.1f} MB; they build {bases.told}")
    say(f"next: harbor run -p {out / 'tasks' / tasks[0].task_id} -a oracle")


def _bases(images: list[str], base: str | None, *, standalone: bool) -> Bases:
    if images and standalone:
        raise UsageError("--images and --standalone exclude each other", hint="harness export harbor --help")
    if base is not None and not standalone:
        raise UsageError("--base says what --standalone builds on", hint="harness export harbor DIR --standalone --base IMAGE")
    if standalone:
        return StandaloneBases(base or PLAIN_BASE)
    return PinnedBases([reference for given in images for reference in _references(given)]) if images else LocalBases()


def _references(given: str) -> list[str]:
    """One reference, or those of a file."""
    if "@" in given:
        return [given]
    try:
        return Path(given).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            f"--images {given} is no reference and no file of them", hint=f"harness images --push PREFIX > {quoted(given)}"
        ) from None
