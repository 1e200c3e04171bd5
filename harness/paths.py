"""Location of this harness's own files: the root of a checkout, or the installed package.

A wheel carries `tasks/` and `docker/` inside `harness/`, because folders beside an installed package belong to other
distributions: `docker` there is the Docker SDK. `worlds/`, `validators/` and `oracles/` are packages of ours, and lie beside it
in both cases.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

ROOT = PACKAGE.parent
"""Folder that contains harness/, worlds/, validators/ and oracles/: the checkout, or site-packages."""


def is_checkout(root: Path = ROOT) -> bool:
    """Return True if `root` is a source checkout of the project, not a folder of installed packages."""
    return (root / "pyproject.toml").is_file()


def recipes(root: Path = ROOT) -> Path:
    """Return the folder of Dockerfiles and requirements for building images; it may not exist."""
    return root / "docker" if is_checkout(root) else root / PACKAGE.name / "docker"


def own_tasks(package: Path = PACKAGE) -> tuple[Path, ...]:
    """Return the folders of tasks that belong to this harness; they may be empty or missing."""
    beside = [package.parent / "tasks"] if is_checkout(package.parent) else []
    return (*beside, package / "tasks")
