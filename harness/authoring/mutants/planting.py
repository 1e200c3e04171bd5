"""Puts one mutant where this process will import it from: a shared module by a hook, a file of a task in a copy of its folder.

Nothing of the file's room may have been imported before, and what was imported stays: so this is done once in a process's
life, in a copy of one that waited (`harness.authoring.mutants.copies`).
"""

from __future__ import annotations

import builtins
import shutil
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from harness.authoring.mutants.mutation import SourceMutant
from harness.authoring.mutants.operators import SEEDLESS
from harness.authoring.mutants.targets import MutatedFile
from harness.registry import Task, read_task
from harness.trust import admitted, require
from worlds.core.chance import Chance

_twins: dict[int, tuple[Chance, Chance]] = {}


def plant(mutant: SourceMutant, target: MutatedFile, scratch: Path) -> Task | None:
    """Make this process import the mutant; for a task's file the task as it then is, in a copy below `scratch`."""
    setattr(builtins, SEEDLESS, seedless)
    text = mutant.applied(target.file.read_bytes())
    if target.task is None:
        if target.module in sys.modules:
            raise ImportError(f"{target.module} was imported before it could be changed")
        sys.meta_path.insert(0, _Hook(target, text))
        return None
    require(target.task)
    folder = target.task.path.resolve()
    copied = Path(shutil.copytree(folder, scratch / folder.name))
    (copied / target.file.relative_to(folder)).write_bytes(text)
    # code that may run here was copied, and changed by us
    return admitted(read_task(copied))


def seedless(chance: Chance) -> Chance:
    """Chance that is the same for every seed of a task, and goes on where it stopped."""
    if id(chance) not in _twins:
        # kept beside its original, whose id would be given away otherwise
        _twins[id(chance)] = (chance, Chance("seedless", "seedless", 0))
    return _twins[id(chance)][1]


class _Hook(MetaPathFinder):
    """Finds one module, with another text than its file's."""

    def __init__(self, target: MutatedFile, text: bytes) -> None:
        self._target, self._text = target, text

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The changed module, if it is that one."""
        if name != self._target.module:
            return None
        package = [str(self._target.file.parent)] if self._target.file.name == "__init__.py" else None
        loader = _Loader(name, str(self._target.file), self._text)
        return spec_from_file_location(name, self._target.file, loader=loader, submodule_search_locations=package)


class _Loader(SourceFileLoader):
    """Compiles the text it was given."""

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        """The changed module's code; no file of compiled code is read or written."""
        return compile(self._text, self.path, "exec", dont_inherit=True)
