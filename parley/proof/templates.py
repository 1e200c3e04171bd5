"""Template sets, one per family: the boilerplate of every task folder, and the skeleton of a new one.

They are in parley/families/<family>/templates: family.toml, boilerplate/ (files that are the same in every folder of the
family), skeleton/ (the author's files of a small task that verifies at once) and skeleton-X/ (files that differ in the style X,
e.g. as a FastAPI app). Files of all families are in templates/shared/boilerplate. Every file ends in `.j2` and is rendered with
`<< >>` as delimiters, which have no meaning in TOML, shell, YAML, Python or in the tasks' own `{{ }}` templates. `<< player >>`
is the text of the family's player.py: the oracle is written, typed and tested once, and each folder has a copy that runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import tomli
from jinja2 import Environment, StrictUndefined

from harness.errors import UsageError
from worlds.core.models import Strict

SHARED = Path(__file__).parent / "templates" / "shared"
FAMILIES = Path(__file__).parents[1] / "families"
"""Folder of the families, whose files are read and never imported from here."""
STAMP = "written by `harness sync`: edits here are lost."
"""End of the stamp line in files that `sync` writes. `sync` removes a stamped file that no template creates any more."""

_SUFFIX = ".j2"

Files = Mapping[str, bytes]
"""Mapping from relative path to content."""


class Family(Strict):
    """The settings of a family's template set."""

    name: str
    version: int
    violations: int = 0

    @property
    def stamp(self) -> str:
        """The version line of the boilerplate."""
        return f"Boilerplate {self.name}/{self.version}, {STAMP}"

    @property
    def folder(self) -> Path:
        """The family's folder in the harness."""
        return FAMILIES / self.name.replace("-", "_")

    def boilerplate(self) -> Files:
        """Return the files that are the same in every folder of the family."""
        player = self.folder / "player.py"
        values = {"stamp": self.stamp, **({"player": player.read_text(encoding="utf-8")} if player.exists() else {})}
        return {**_rendered(SHARED / "boilerplate", values), **_rendered(self.folder / "templates" / "boilerplate", values)}

    def skeleton(self, task: str, style: str = "") -> Files:
        """Return the author's files of a new task. Raises UsageError if the family has no files for the style."""
        values = {"name": task, "class_name": "".join(word.capitalize() for word in task.split("-"))}
        files = _rendered(self.folder / "templates" / "skeleton", values)
        if not style:
            return files
        if not (own := _rendered(self.folder / "templates" / f"skeleton-{style}", values)):
            raise UsageError(f"{self.name} has no template in the style {style!r}", hint=f"harness new {self.name} {task}")
        return {**files, **own}


def families() -> list[str]:
    """Return every family that has templates."""
    return sorted(file.parent.parent.name.replace("_", "-") for file in FAMILIES.glob("*/templates/family.toml"))


@cache
def family(name: str) -> Family:
    """Return one family's templates. Raises UsageError with the list of known families for an unknown one."""
    if name not in families():
        raise UsageError(f"unknown family {name!r}; known: {', '.join(families())}")
    stated = FAMILIES / name.replace("-", "_") / "templates" / "family.toml"
    return Family(name=name, **tomli.loads(stated.read_text(encoding="utf-8")))


def is_executable(relative: str) -> bool:
    """Return True if a file of a task folder must be executable, which only shell scripts are."""
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
