"""Where this harness's own files lie: at the root of a checkout, or inside the installed package.

A wheel carries `tasks/` and `docker/` within `harness/`, since what lies beside an installed package belongs to others: the
`docker` there is the SDK. `worlds/`, `validators/` and `oracles/` are packages of ours, and lie beside it in both.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

ROOT = PACKAGE.parent
"""What holds harness/, worlds/, validators/ and oracles/: the checkout, or site-packages."""


def is_checkout(root: Path = ROOT) -> bool:
    """Whether this is the source of the project, and not a folder of installed packages."""
    return (root / "pyproject.toml").is_file()


def recipes(root: Path = ROOT) -> Path:
    """The folder of Dockerfiles and requirements from which rooms are made; it need not be there."""
    return root / "docker" if is_checkout(root) else root / PACKAGE.name / "docker"


def own_tasks(package: Path = PACKAGE) -> tuple[Path, ...]:
    """The folders of tasks that belong to this harness; whether there is anything in them or not."""
    beside = [package.parent / "tasks"] if is_checkout(package.parent) else []
    return (*beside, package / "tasks")
