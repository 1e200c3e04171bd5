"""Finds every task folder, refuses every broken one, and knows tasks by id, glob or family.

A folder is a task where it holds task.toml. Nothing is listed anywhere: drop a folder in and it is there.
1. `discover` reads them all; a folder under tasks/ that has files but no task.toml is an error, not a gap.
2. A task's id is its folder's name, and must equal the name in its task.toml; ids are unique over all families.
3. A folder holds plain files and folders alone, within bounds (`harness.contents`): a link, a FIFO or a device in it, or in the
   way to it, is refused by its path, and nothing of it was read.
4. A folder without [metadata.parley] is a foreign Harbor task: it runs under Docker, with what Harbor promises.
"""

from __future__ import annotations

import difflib
import fnmatch
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from harness.contents import IGNORED, Content, NotPlain, names_in, read_file, read_folder
from harness.errors import TaskInvalid, UnknownTask, UsageError
from harness.places import is_checkout, own_tasks
from harness.taskfile import Parley, TaskFile, read_taskfile
from worlds.core.levels import FIRST

FOREIGN = "foreign"
"""The family of a task that has no [metadata.parley]."""

REQUIRED = ("instruction.md", "environment", "tests/test.sh")

_TASK_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")
"""A task's id becomes a folder of every run and a part of its images' names."""


@dataclass(frozen=True)
class Task:
    """One task folder, read and checked."""

    path: Path
    file: TaskFile
    admitted: bool = False
    """Whether a person vouched for its code (`harness.trust`); nothing that is read from a file sets it."""
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

    def at(self, level: int) -> Task:
        """The task as a level has it: its defaults, budgets and costs are that level's; raises ManifestError for no level."""
        ours = self.parley
        if ours is None or level == FIRST:
            return self
        metadata = self.file.metadata.model_copy(update={"parley": ours.at(level)})
        return replace(self, file=self.file.model_copy(update={"metadata": metadata}))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over every file's relative path and bytes: the identity of a task in a frozen plan."""
        return folder_digest(self.path)


def folder_digest(folder: Path) -> str:
    """SHA-256 over the sorted relative paths and contents of a folder's files; raises TaskInvalid for one that is not plain."""
    total = hashlib.sha256()
    with _plain():
        for name in names_in(folder):
            relative, content = name.encode(), read_file(folder, name).data
            total.update(b"%d:%s%d:" % (len(relative), relative, len(content)) + content)
    return total.hexdigest()


def files_of(folder: Path) -> list[Path]:
    """A folder's files, sorted by relative path, caches left out; raises TaskInvalid for one that is not plain."""
    with _plain():
        return [folder / name for name in names_in(folder)]


def contents_of(folder: Path, part: str = "") -> Mapping[str, Content]:
    """The files below `folder/part` by their sorted paths there; raises TaskInvalid where anything on the way is not plain."""
    with _plain():
        return read_folder(folder, part)


@contextmanager
def _plain() -> Iterator[None]:
    """A folder that cannot be read as plain files, or at all, is an invalid task."""
    try:
        yield
    except NotPlain as error:
        raise TaskInvalid(f"{error.filename}:1: {error.strerror}") from None
    except OSError as error:
        raise TaskInvalid(f"{error.filename}:1: cannot be read: {error.strerror}") from None


def tasks_root(explicit: Path | None = None) -> Path:
    """Where tasks live: the flag, PARLEY_TASKS, the nearest tasks/ upwards, or those that came with this code."""
    if explicit is not None or os.environ.get("PARLEY_TASKS"):
        root = explicit or Path(os.environ["PARLEY_TASKS"])
        if not os.path.isdir(root):  # noqa: PTH112 - a path too long for any system is none, where Path.is_dir raises
            raise UsageError(f"{root} is not a folder of tasks")
        return root.resolve()
    here = Path.cwd()
    for folder in (*(parent / "tasks" for parent in (here, *here.parents)), *own_tasks()):
        if folder.is_dir() and any(folder.glob("*/*/task.toml")):
            return folder
    raise UsageError("no tasks/ folder here or above", hint="harness --tasks PATH list")


def drafts_root(explicit: Path | None = None) -> Path:
    """Where new tasks go: where tasks live, but never into an installed package; there, `tasks` in this folder."""
    root = tasks_root(explicit)
    return root if is_checkout() or root not in own_tasks() else Path("tasks")


def read_task(folder: Path) -> Task:
    """Read one task folder; raises TaskInvalid with `path:line: what`."""
    toml = folder / "task.toml"
    if not _TASK_ID.fullmatch(folder.name):
        raise TaskInvalid(
            f"{toml}:1: a task's folder is named by letters, digits and _ . + -, at most 128, not {folder.name!r}"
        )
    file = read_taskfile(toml)
    files_of(folder)
    for name in REQUIRED:
        optional = name == "environment" and file.environment.docker_image is not None and file.metadata.parley is None
        if not optional and not (folder / name).exists():
            raise TaskInvalid(f"{toml}:1: the folder lacks {name}", hint=f"harness sync {folder.name}")
    if file.task is not None and file.metadata.parley is not None and file.task.name.rpartition("/")[2] != folder.name:
        raise TaskInvalid(f"{toml}:1: task.name ends in {file.task.name.rpartition('/')[2]!r}, the folder is {folder.name!r}")
    return Task(folder, file)


def discover(root: Path) -> list[Task]:
    """Every task under `root`, by family folder then name; raises TaskInvalid for the first broken folder."""
    with _plain():
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
    for family in _inner(root):
        if (family / "task.toml").exists():
            yield family
            continue
        for folder in _inner(family):
            if not (folder / "task.toml").exists() and not files_of(folder):
                continue
            yield folder


def _inner(folder: Path) -> list[Path]:
    """The folders in a folder, sorted; raises TaskInvalid for a link to one."""
    inner = sorted(p for p in folder.iterdir() if p.name not in IGNORED and p.is_dir())
    for path in inner:
        if path.is_symlink():
            raise TaskInvalid(f"{path}:1: is a link to {str(path.readlink())!r}, and no link is followed")
    return inner


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
        if not matches and _is_task(Path(name)):
            path = Path(name).resolve()
            matches = [known.get(path) or read_task(path)]
        if not matches:
            raise _unknown(name, tasks)
        for task in matches:
            if chosen.setdefault(task.task_id, task).path.resolve() != task.path.resolve():
                raise UsageError(f"{task.task_id} is named twice: {chosen[task.task_id].path} and {task.path}")
    order = {task.task_id: place for place, task in enumerate(tasks)}
    return sorted(chosen.values(), key=lambda task: order.get(task.task_id, len(order)))


def _is_task(path: Path) -> bool:
    """Whether a path leads to a task's folder; one that no system has does not."""
    try:
        return (path / "task.toml").exists()
    except OSError:
        return False


def _unknown(name: str, tasks: Sequence[Task]) -> UnknownTask:
    names = [t.task_id for t in tasks] + sorted({t.family for t in tasks})
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    return UnknownTask(
        f"no task is called {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""), hint="harness list"
    )
