"""`harness clean`: list the orphaned resources of dead runs on this host with owner and age, then remove them.

1. Only listed resources are removed, and resources of processes that died after the listing. Resources of live runs, on this
   host or another, are kept, and so is everything without our owner's label.
2. Removal is confirmed at a terminal; without one `--yes` is required. `--dry-run` only lists.
3. Half-written episodes are in the folders of runs. Those of a run in progress are left alone, even if another machine plays
   it on the same disk.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from harness.cli.amounts import counted
from harness.cli.tasks import Json
from harness.errors import RuntimeFailure, UsageError
from harness.orphans import Orphan
from harness.output import emit, say
from harness.pod import Runtime
from harness.records import RunFolder
from harness.runtime_choice import RUNTIMES, runtime_named
from harness.runtimes.docker.runtime import DockerRuntime
from harness.tables import show_table


@dataclass(frozen=True)
class _Place:
    """A runtime, or a run's folder, with its orphaned resources."""

    name: str
    left: list[Orphan]
    sweeper: Runtime | RunFolder
    images: bool = False

    def clear(self) -> list[str]:
        """Remove the orphaned resources, and return the names of the removed ones."""
        gone = [str(name) for name in self.sweeper.sweep()]
        if self.images and isinstance(self.sweeper, DockerRuntime):
            gone += self.sweeper.images.clean_images()
        return gone


def clean_command(
    images: bool = typer.Option(False, help="Remove also all images of each task except the newest."),
    runs: Path = typer.Option(Path("runs"), help="Folder of runs to search for half-written episodes."),
    dry_run: bool = typer.Option(False, "--dry-run", help="List the leftovers, and remove nothing."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Remove without confirmation."),
    json: Json = False,
) -> None:
    """List and remove leftovers of dead runs. Resources of live runs, on this host or another, are kept."""
    places = [*_runtimes(images=images), *_runs(runs)]
    left = [(place.name, one) for place in places for one in place.left]
    if not json:
        _show(left)
    removed = [] if dry_run or not left or not _agreed(len(left), yes=yes) else [name for p in places for name in p.clear()]
    if json:
        emit({"left": [_told(where, one) for where, one in left], "removed": removed})
    elif removed:
        say(f"{counted(len(removed), 'item')} removed")


def _runtimes(*, images: bool) -> Iterator[_Place]:
    for name in RUNTIMES:
        runtime = runtime_named(name, say)
        try:
            left = runtime.leftovers()
            if images and isinstance(runtime, DockerRuntime):
                left += [Orphan("image", tag, "") for tag in runtime.images.old_images()]
        except RuntimeFailure as failure:
            say(f"{name}: {failure}")
            continue
        yield _Place(name, left, runtime, images)


def _runs(folder: Path) -> Iterator[_Place]:
    for plan in sorted({*folder.glob("run.json"), *folder.glob("*/run.json"), *folder.glob("*/*/run.json")}):
        run = RunFolder(plan.parent)
        if not run.is_played and (left := run.leftovers()):
            yield _Place(str(plan.parent), left, run)


def _agreed(count: int, *, yes: bool) -> bool:
    """Return True if the removal is confirmed. Raises UsageError without a terminal."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"removing {counted(count, 'item')} needs confirmation at a terminal", hint="harness clean --yes")
    return typer.confirm("remove all of these?", err=True)


def _show(left: list[tuple[str, Orphan]]) -> None:
    if not left:
        say("there are no leftovers of dead runs")
        return
    rows = [
        (where, one.kind, one.name, one.run or "-", f"process {one.process}" if one.process else "-", _age(one.age_s))
        for where, one in left
    ]
    show_table(("where", "what", "name", "run", "left by", "age"), rows)
    kinds = Counter(one.kind for _, one in left)
    say("leftovers of dead processes: " + ", ".join(counted(count, kind) for kind, count in kinds.items()))


def _told(where: str, one: Orphan) -> dict[str, Any]:
    age = None if one.age_s is None else round(one.age_s)
    return {"where": where, "kind": one.kind, "name": one.name, "run": one.run, "process": one.process, "age_s": age}


def _age(seconds: float | None) -> str:
    """Return an age as 5 s, 3 min, 2 h or 4 d."""
    if seconds is None:
        return "-"
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
