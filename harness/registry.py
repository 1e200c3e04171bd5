"""Finds every task folder, refuses every broken one, and knows tasks by id, glob or family.

A folder is a task where it holds task.toml. Nothing is listed anywhere: drop a folder in and it is there.
1. `discover` reads them all; a folder under tasks/ that has files but no task.toml is an error, not a gap.
2. A task's id is its folder's name, and must equal the name in its task.toml; ids are unique over all families.
3. A folder without [metadata.parley] is a foreign Harbor task: it runs under Docker, with what Harbor promises.
"""

from __future__ import annotations

import difflib
import fnmatch
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.errors import TaskInvalid, UnknownTask, UsageError
from harness.taskfile import Parley, TaskFile, read_taskfile

FOREIGN = "foreign"
"""The family of a task that has no [metadata.parley]."""

REQUIRED = ("instruction.md", "environment", "tests/test.sh")
_IGNORED = {"__pycache__", ".DS_Store", ".pytest_cache"}


@dataclass(frozen=True)
class Task:
    """One task folder, read and checked."""

    path: Path
    file: TaskFile
    granted: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Variables of this host that a foreign task may be given, by name: those named with --env."""

    @property
    def task_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def parley(self) -> Parley | None:
        """Our metadata; None for a foreign task."""
        return self.file.metadata.parley

    @property
    def family(self) -> str:
        """The family, or `foreign`."""
        return self.parley.family if self.parley else FOREIGN

    @property
    def is_seated(self) -> bool:
        """Whether this is a game with several seats, each of which answers turns."""
        return self.parley is not None and self.parley.seats > 1

    @property
    def world_folder(self) -> Path:
        """The folder of the world's files."""
        return self.path / "environment" / "api"

    @cached_property
    def digest(self) -> str:
        """SHA-256 over every file's relative path and bytes: the identity of a task in a frozen plan."""
        return folder_digest(self.path)


def folder_digest(folder: Path) -> str:
    """SHA-256 over the sorted relative paths and contents of a folder's files."""
    total = hashlib.sha256()
    for path in files_of(folder):
        relative = path.relative_to(folder).as_posix().encode()
        content = path.read_bytes()
        total.update(b"%d:%s%d:" % (len(relative), relative, len(content)) + content)
    return total.hexdigest()


def files_of(folder: Path) -> list[Path]:
    """A folder's files, sorted by relative path, caches left out."""
    found = (p for p in folder.rglob("*") if p.is_file() and not _IGNORED.intersection(p.relative_to(folder).parts))
    return sorted(found, key=lambda p: p.relative_to(folder).as_posix())


def tasks_root(explicit: Path | None = None) -> Path:
    """Where tasks live: the flag, PARLEY_TASKS, the nearest tasks/ upwards, or the checkout this code runs from."""
    if explicit is not None or os.environ.get("PARLEY_TASKS"):
        root = explicit or Path(os.environ["PARLEY_TASKS"])
        if not root.is_dir():
            raise UsageError(f"{root} is not a folder of tasks")
        return root.resolve()
    here = Path.cwd()
    for folder in (*(parent / "tasks" for parent in (here, *here.parents)), Path(__file__).parents[1] / "tasks"):
        if folder.is_dir() and any(folder.glob("*/*/task.toml")):
            return folder
    raise UsageError("no tasks/ folder here or above", hint="harness --tasks PATH list")


def read_task(folder: Path) -> Task:
    """Read one task folder; raises TaskInvalid with `path:line: what`."""
    toml = folder / "task.toml"
    file = read_taskfile(toml)
    for name in REQUIRED:
        optional = name == "environment" and file.environment.docker_image is not None
        if not optional and not (folder / name).exists():
            raise TaskInvalid(f"{toml}:1: the folder lacks {name}", hint=f"harness sync {folder.name}")
    if file.task is not None and file.metadata.parley is not None and file.task.name.rpartition("/")[2] != folder.name:
        raise TaskInvalid(f"{toml}:1: task.name ends in {file.task.name.rpartition('/')[2]!r}, the folder is {folder.name!r}")
    return Task(folder, file)


def discover(root: Path) -> list[Task]:
    """Every task under `root`, by family folder then name; raises TaskInvalid for the first broken folder."""
    tasks = [read_task(folder) for folder in _folders(root)]
    seen: dict[str, Path] = {}
    for task in tasks:
        if task.task_id in seen:
            raise TaskInvalid(f"{task.path}/task.toml:1: {task.task_id} is also the id of {seen[task.task_id]}")
        seen[task.task_id] = task.path
    return tasks


def _folders(root: Path) -> Iterator[Path]:
    if (root / "task.toml").exists():
        yield root
        return
    for family in sorted(p for p in root.iterdir() if p.is_dir() and p.name not in _IGNORED):
        if (family / "task.toml").exists():
            yield family
            continue
        for folder in sorted(p for p in family.iterdir() if p.is_dir() and p.name not in _IGNORED):
            if not (folder / "task.toml").exists() and not files_of(folder):
                continue
            yield folder


def select(tasks: Sequence[Task], names: Sequence[str]) -> list[Task]:
    """The tasks that `names` mean, in registry order: ids, globs, families or paths; none named means all.

    Raises UnknownTask, with the nearest names, for a name that means nothing.
    """
    if not names:
        return list(tasks)
    known = {task.path.resolve(): task for task in tasks}
    chosen: dict[str, Task] = {}
    for name in names:
        matches = [t for t in tasks if name in (t.task_id, t.family) or fnmatch.fnmatchcase(t.task_id, name)]
        if not matches and (Path(name) / "task.toml").exists():
            path = Path(name).resolve()
            matches = [known.get(path) or read_task(path)]
        if not matches:
            raise _unknown(name, tasks)
        for task in matches:
            if chosen.setdefault(task.task_id, task).path.resolve() != task.path.resolve():
                raise UsageError(f"{task.task_id} is named twice: {chosen[task.task_id].path} and {task.path}")
    order = {task.task_id: place for place, task in enumerate(tasks)}
    return sorted(chosen.values(), key=lambda task: order.get(task.task_id, len(order)))


def _unknown(name: str, tasks: Sequence[Task]) -> UnknownTask:
    names = [t.task_id for t in tasks] + sorted({t.family for t in tasks})
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    return UnknownTask(
        f"no task is called {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""), hint="harness list"
    )
