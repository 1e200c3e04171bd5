"""The paths and programs that the files of a folder name: where somebody may look for what an agent left.

The attacks know all of a folder, its hidden tests too. What they find may be no path at all, a route for instance; then
nothing can be left there, and nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.registry import Task

MOST = 150
"""So many places are tried at most."""

_READ = ("environment", "tests", "instruction.md")
_LONGEST = 1 << 16
_PATH = re.compile(r"(?<![\w.:/>$}])/[\w.@+-]+(?:/[\w.@+-]+)*/?")
_PROGRAM = re.compile(r"(?<![\w/.-])(?:\./)?([\w-]+\.(?:sh|bash|py|js|mjs|rb|pl))\b")
_SYSTEM = ("/bin", "/boot", "/dev", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/usr/sbin")


def named_paths(task: Task) -> list[str]:
    """Absolute paths outside the system's own folders, in order of their names."""
    paths = {match.rstrip("/") for text in _texts(task) for match in _PATH.findall(text)}
    return sorted(path for path in paths if path and not _is_system(path))[:MOST]


def named_folders(task: Task) -> list[str]:
    """What of these paths may be a folder: those whose name has no suffix, and what lies above the others."""
    paths = [PurePosixPath(path) for path in named_paths(task)]
    folders = {str(path.parent if path.suffix else path) for path in paths} | {str(path.parent) for path in paths}
    return sorted(path for path in folders if path != "/" and not _is_system(path))[:MOST]


def named_programs(task: Task) -> list[str]:
    """File names of scripts, without a folder."""
    return sorted({match for text in _texts(task) for match in _PROGRAM.findall(text)})[:MOST]


def _texts(task: Task) -> Iterator[str]:
    for name in _READ:
        for file in task.files(name):
            yield file.read_bytes()[:_LONGEST].decode("utf-8", "replace")


def _is_system(path: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in _SYSTEM)
