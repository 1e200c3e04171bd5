"""`harness pack`, `unpack` and `merge`: pack a run into a file, restore its folder, merge shards from several machines."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.amounts import counted, size
from harness.errors import UsageError, quoted
from harness.output import say
from harness.run_files import PACKED, is_packed
from parley.places import run_name, runs_in
from parley.reports.packing import KEY_FILE, differs, pack, unpack
from parley.sweeps.merging import merge


def pack_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or of a sweep, each part of which is packed.")],
    out: Path | None = typer.Option(None, help=f"File to write, which must end in {PACKED}. Default: beside the folder."),
    with_key: bool = typer.Option(False, "--with-key", help="Include the key of a private edition."),
    remove: bool = typer.Option(False, "--remove", help="Remove the folder, after a comparison of every byte."),
) -> None:
    """Pack a run into one file. The folder is not changed."""
    runs = [one for one in runs_in(run) if not is_packed(one)]
    if not runs:
        raise UsageError(f"{run} contains no unpacked run", hint="harness pack RUN, the folder that harness run printed")
    if out is not None and (len(runs) > 1 or not out.name.endswith(PACKED)):
        why = "contains several runs, and --out names one file" if len(runs) > 1 else f"is packed into NAME{PACKED}"
        raise UsageError(f"{run} {why}", hint=f"harness pack {quoted(runs[0])} --out NAME{PACKED}")
    for one in runs:
        whole = one.resolve()
        keeps = (one / KEY_FILE).exists() and not with_key
        if keeps and remove:
            raise UsageError(f"{one}/{KEY_FILE} would be lost", hint=f"harness pack {quoted(one)} --with-key --remove")
        packed = out or one.with_name(f"{whole.name}{PACKED}")
        files = pack(one, packed, with_key=with_key)
        say(f"{packed}: {counted(files, 'file')}, {size(packed.stat().st_size)}")
        if keeps:
            say(f"  without {KEY_FILE}, the private key of its edition")
        if remove:
            _remove(one, packed)


def _remove(run: Path, packed: Path) -> None:
    """Remove a folder whose pack is complete. Raises UsageError if it is not."""
    if (name := differs(run, packed)) is not None:
        raise UsageError(
            f"{name} in {packed} differs from {run}, so the folder is kept",
            hint=f"rm {quoted(packed)}, then harness pack {quoted(run)}",
        )
    shutil.rmtree(run.resolve())
    say(f"  {run} is removed; harness unpack {quoted(packed)} restores it")


def unpack_command(
    packed: Annotated[Path, typer.Argument(metavar="FILE", help=f"File of a packed run, which ends in {PACKED}.")],
    out: Path | None = typer.Option(None, help="Folder to write, new or empty. Default: beside the file."),
) -> None:
    """Restore the folder of a packed run. The file is not changed."""
    if not is_packed(packed):
        raise UsageError(f"{packed} is not a packed run", hint=f"harness unpack RUN{PACKED}")
    folder = out or packed.with_name(run_name(packed))
    say(f"{folder}: {counted(unpack(packed, folder), 'file')}")


def merge_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the combined run, new or empty.")],
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="Folders of all shards, in any order.")],
) -> None:
    """Combine shards into one run. The shards are not changed."""
    merged = merge(out, shards)
    if len(merged.versions) > 1:
        say(f"warning: the shards were played by several versions: {', '.join(merged.versions)}")
    say(f"{counted(len(merged.shards), 'shard')} merged: {counted(merged.episodes, 'episode')} in {out}")
    if merged.ungraded:
        say(f"  {merged.ungraded} of them are ungraded; harness run --resume {quoted(out)} retries them")
    say(f"  tables: harness report {quoted(out)}")
