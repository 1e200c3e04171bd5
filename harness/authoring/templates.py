"""One template set per family: the boilerplate of every task folder, and the skeleton that a new one starts from.

templates/<family>/family.toml   its version, and how many wrong clients a task must ship
templates/<family>/boilerplate/  files that are the same in every folder of the family
templates/shared/boilerplate/    files that are the same in every folder of every family, but for the stamp
templates/<family>/skeleton/     the author's files of a small task that verifies at once
A family is a folder here; nothing lists them. Every file ends in `.j2` and is rendered with `<< >>` as delimiters, which mean
nothing in TOML, shell, YAML, Python or in the tasks' own `{{ }}` templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import tomli
from jinja2 import Environment, StrictUndefined

from harness.errors import UsageError
from worlds.core.manifest import Strict

ROOT = Path(__file__).parent / "templates"
_SUFFIX = ".j2"

Files = Mapping[str, bytes]
"""Relative path -> content."""


class Family(Strict):
    """What a template set says of its family."""

    name: str
    version: int
    violations: int = 0

    @property
    def stamp(self) -> str:
        """The version line of the boilerplate."""
        return f"Boilerplate {self.name}/{self.version}, written by `harness sync`: edits here are lost."

    def boilerplate(self) -> Files:
        """The files that are the same in every folder."""
        values = {"stamp": self.stamp}
        return {**_rendered(ROOT / "shared" / "boilerplate", values), **_rendered(ROOT / self.name / "boilerplate", values)}

    def skeleton(self, task: str) -> Files:
        """The author's files of a new task."""
        class_name = "".join(word.capitalize() for word in task.split("-"))
        return _rendered(ROOT / self.name / "skeleton", {"name": task, "class_name": class_name})


def families() -> list[str]:
    """Every family that has templates."""
    return sorted(folder.parent.name for folder in ROOT.glob("*/family.toml"))


@cache
def family(name: str) -> Family:
    """One family's templates; raises UsageError, naming the known ones, for an unknown family."""
    if name not in families():
        raise UsageError(f"no family is called {name!r}; there are {', '.join(families())}")
    return Family(name=name, **tomli.loads((ROOT / name / "family.toml").read_text(encoding="utf-8")))


def is_executable(relative: str) -> bool:
    """Whether a file of a task folder must be executable: shell scripts, and nothing else."""
    return relative.endswith(".sh")


def _rendered(folder: Path, values: Mapping[str, str]) -> Files:
    environment = Environment(
        variable_start_string="<<", variable_end_string=">>", block_start_string="<%", block_end_string="%>",
        comment_start_string="<#", comment_end_string="#>", undefined=StrictUndefined, keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - these become source files, not pages
    )  # fmt: skip
    sources = sorted(path for path in folder.rglob(f"*{_SUFFIX}") if path.is_file())
    return {
        path.relative_to(folder).as_posix().removesuffix(_SUFFIX): environment.from_string(path.read_text(encoding="utf-8"))
        .render(values)
        .encode()
        for path in sources
    }
