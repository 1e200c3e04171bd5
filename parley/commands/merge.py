"""`harness merge`: combine the shards of one plan, played on independent machines, into one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.amounts import counted
from harness.errors import quoted
from harness.output import say
from parley.sweeps.merging import merge


def merge_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write the run into, new or empty.")],
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD...", help="The folders of all shards, in any order.")],
) -> None:
    """Make one run of shards; the shards stay as they are."""
    merged = merge(out, shards)
    if len(merged.versions) > 1:
        say(f"warning: the shards were played by several versions: {', '.join(merged.versions)}")
    say(f"{counted(len(merged.shards), 'shard')} merged: {counted(merged.episodes, 'episode')} in {out}")
    if merged.ungraded:
        say(f"  {merged.ungraded} of them have no grade; harness run --resume {quoted(out)} plays them again")
    say(f"  tables: harness report {quoted(out)}")
