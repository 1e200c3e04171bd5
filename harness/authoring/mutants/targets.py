"""Which files are changed: the servers and hidden tests of tasks, and the rooms that a whole family of them shares.

1. Of a task with code of its own, all of environment/api and tests. A task that is data has only what its family shares.
2. Of a family whose every task was chosen, `validators/<family>`, and `worlds/<family>` where its tasks are code: the rules
   of a game have witnesses and tests of their own, and the certificates of its tasks.
3. What every family's validators share, where every family was chosen. Not validators/plugin.py and verdict.py, nor a family's
   options.py: the harness itself stands on them, so a change there would change who judges, or what a task.toml may say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.authoring.mutants.mutation import SourceMutant
from harness.authoring.mutants.sources import mutants_of
from harness.authoring.scope import is_data
from harness.modules import families
from harness.registry import Task
from worlds import core

ROOT = Path(core.__file__).resolve().parents[2]
"""The folder that holds the rooms."""

JUDGES = frozenset({"tests", "validators"})
"""Kinds of files that no world imports."""

_HARNESS_STANDS_ON = frozenset({"validators/plugin.py", "validators/verdict.py"})
_OPTIONS = "options.py"


class MutatedFile(NamedTuple):
    """A file whose mutants are tried."""

    kind: str
    """server, tests, worlds or validators."""

    file: Path
    path: str
    """What it is called in ids."""

    task: Task | None = None
    """The task that it belongs to; None for what is shared."""

    @property
    def module(self) -> str:
        """The name that a shared file is imported by."""
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def targets(tasks: Sequence[Task], whole: Collection[str]) -> list[MutatedFile]:
    """The files to change for these tasks; of the families in `whole` every task was chosen."""
    listed = [target for task in tasks if task.parley is not None and not is_data(task) for target in _own(task)]
    of_code = {task.family for task in tasks if not is_data(task)}
    for family in sorted(whole):
        rooms = ("worlds", "validators") if family in of_code else ("validators",)
        listed += [target for room in rooms for target in _shared(room, ROOT / room / family.replace("-", "_"))]
    if {family.replace("-", "_") for family in whole} >= set(families()):
        listed += list(_shared("validators", ROOT / "validators", "*.py"))
    return listed


def mutants_in(target: MutatedFile) -> list[SourceMutant]:
    """Every mutant of a file; raises SyntaxError."""
    return mutants_of(target.path, target.file.read_bytes(), draws=target.kind not in JUDGES)


def _own(task: Task) -> Iterator[MutatedFile]:
    folder = task.path.resolve()
    for kind, part in (("server", "environment/api"), ("tests", "tests")):
        for file in sorted((folder / part).rglob("*.py")):
            shown = file.relative_to(ROOT) if file.is_relative_to(ROOT) else Path(folder.name) / file.relative_to(folder)
            yield MutatedFile(kind, file, shown.as_posix(), task)


def _shared(kind: str, folder: Path, pattern: str = "**/*.py") -> Iterator[MutatedFile]:
    for file in sorted(folder.glob(pattern)):
        path = file.relative_to(ROOT).as_posix()
        if path not in _HARNESS_STANDS_ON and file.name != _OPTIONS:
            yield MutatedFile(kind, file, path)
