"""Runs and episodes by their paths, in folders or packed."""

from __future__ import annotations

from pathlib import Path

from harness.limits import Limit
from harness.run_files import PACKED, files_of, is_run

_DEPTHS = ("*", "*/*")
"""Glob patterns for the runs in a folder, and for the runs of the sweeps in a folder."""


def runs_in(path: Path) -> list[Path]:
    """Return the run at a path, or else the runs in a folder and in the folders of sweeps in it.

    If a run exists both as a folder and as a packed file, only the folder is returned.
    """
    if is_run(path):
        return [path]
    folders = {plan.parent for deep in _DEPTHS for plan in path.glob(f"{deep}/run.json")}
    packed = [pack for deep in _DEPTHS for pack in path.glob(f"{deep}{PACKED}")]
    return sorted(folders.union(pack for pack in packed if pack.with_name(run_name(pack)) not in folders))


def run_name(path: Path) -> str:
    """Return the name of a run from its folder or file."""
    return path.name.removesuffix(PACKED)


def run_and_place(folder: Path) -> tuple[Path, str]:
    """Return the run that contains an episode's folder, or else its parent folder, and the path from there to the episode."""
    whole = folder.absolute()
    parts = whole.parts
    if "episodes" in parts[1:]:
        place = len(parts) - 1 - parts[::-1].index("episodes")
        return Path(*parts[:place]), "/".join(parts[place:]) + "/"
    return whole.parent, f"{whole.name}/"


def read_recorded(folder: Path, name: str, most: Limit) -> bytes:
    """Read a file from an episode's folder, also in a packed run. `most` and the errors are those of `FolderFiles.read`."""
    run, below = run_and_place(folder)
    return files_of(run).read(f"{below}{name}", most)


def in_order(name: str) -> list[str]:
    """Return the sort key of a path: compare folder by folder, so `a/b` sorts before `a-b/c`."""
    return name.split("/")
