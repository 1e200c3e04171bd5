"""Registry of tasks: finds every task folder, rejects invalid ones, and selects tasks by id, glob or family.

A folder that contains task.toml is a task. There is no list of tasks: a new folder is found automatically.
1. `survey` reads all folders and returns invalid ones with the reason; `discover` raises for the first of those. A folder
beside tasks that has files but no task.toml is invalid too. Hidden folders, and folders that are not beside a task, are
ignored.
2. A task's id is its folder's name, and must equal the name in its task.toml; ids are unique across all families.
3. A folder may contain only plain files and folders, within limits (`harness.safe_read`). A link, a FIFO or a device in it, or
in its path, is refused before anything is read.
4. A folder without [metadata.parley] is a foreign Harbor task: it runs under Docker, with Harbor's guarantees. A link inside
its environment/ that stays there is kept as a link, as in Docker.
"""

from __future__ import annotations

import difflib
import fnmatch
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from harness.paths import own_tasks
from harness.refusals import TaskInvalid, UnknownTask, UsageError, quoted
from harness.safe_read import IGNORED, Content, NotPlain, links_in, names_in, read_file, read_folder
from harness.taskfile import Parley, TaskFile, read_taskfile, read_text
from worlds.core.levels import FIRST

FOREIGN = "foreign"
"""Family of a task without [metadata.parley]."""

REQUIRED = ("instruction.md", "environment", "tests/test.sh")

LONGEST_ID = 128
"""Maximum bytes of a task's id, which becomes a folder name in every run."""

_LOOKS = ("instruction.md", "task.yaml", "tests/test.sh")
"""Files that identify a folder without task.toml as a task of another format."""

_TERMINAL_BENCH = re.compile(r"^(?:instruction|descriptions|parser_name)\s*:", re.MULTILINE)
_LINKED = "environment"
"""Part of a foreign folder in which internal links are kept: Docker uses it as a build context."""


@dataclass(frozen=True)
class Task:
    """Task folder, read and checked."""

    path: Path
    file: TaskFile
    admitted: bool = False
    """True if a person vouched for its code (`harness.trust`). Nothing read from a file sets this field."""
    granted: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Variables of this host that a foreign task may receive, by name, as granted with --env."""

    @property
    def task_id(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def parley(self) -> Parley | None:
        """Our metadata; None for a foreign task."""
        return self.file.metadata.parley

    @property
    def family(self) -> str:
        """Family of the task, or `foreign`."""
        return self.parley.family if self.parley else FOREIGN

    @property
    def is_seated(self) -> bool:
        """True if this is a game with several seats that each answer turns."""
        return self.parley is not None and self.parley.seats > 1

    @property
    def world_folder(self) -> Path:
        """Folder of the world's files."""
        return self.path / "environment" / "api"

    def at(self, level: int) -> Task:
        """Return the task with the defaults, budgets and costs of a level; raises ManifestError if there is no such level."""
        ours = self.parley
        if ours is None or level == FIRST:
            return self
        metadata = self.file.metadata.model_copy(update={"parley": ours.at_level(level)})
        return replace(self, file=self.file.model_copy(update={"metadata": metadata}))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over every file's relative path and bytes: the identity of a task in a frozen plan."""
        return folder_digest(self.path, _LINKED if self.parley is None else None)

    def files(self, part: str = "") -> list[Path]:
        """Return the files of the folder, or of one part of it, sorted.

        Links allowed in a foreign environment/ are not included.
        """
        with _plain():
            names = names_in(self.path, links=_LINKED if self.parley is None else None)
        return [self.path / name for name in names if not part or name == part or name.startswith(f"{part}/")]


def folder_digest(folder: Path, links: str | None = None) -> str:
    """Return the SHA-256 of a folder's sorted relative paths and contents; raises TaskInvalid if a file is not plain.

    Below `links`, a part of the folder, internal links are hashed by their targets.
    """
    total = hashlib.sha256()
    with _plain():
        for name in names_in(folder, links=links):
            relative, content = name.encode(), read_file(folder, name).data
            total.update(b"%d:%s%d:" % (len(relative), relative, len(content)) + content)
        for name, target in (links_in(folder, links) if links and (folder / links).is_dir() else {}).items():
            total.update(b"link %d:%s%d:%s" % (len(name.encode()), name.encode(), len(target.encode()), target.encode()))
    return total.hexdigest()


def files_of(folder: Path) -> list[Path]:
    """Return a folder's files, sorted by relative path, without caches; raises TaskInvalid if one is not plain."""
    with _plain():
        return [folder / name for name in names_in(folder)]


def contents_of(folder: Path, part: str = "", links: str | None = None) -> Mapping[str, Content]:
    """Return the files below `folder/part` by sorted path; raises TaskInvalid if anything on the way is not plain.

    Internal links below `links` are not included; `inner_links` returns them.
    """
    with _plain():
        return read_folder(folder, part, links)


def inner_links(folder: Path) -> Mapping[str, str]:
    """Return the links of a folder with their targets; raises TaskInvalid if one leads outside."""
    with _plain():
        return links_in(folder)


@contextmanager
def _plain() -> Iterator[None]:
    """Raise TaskInvalid if a folder cannot be read, or does not consist of plain files."""
    try:
        yield
    except NotPlain as error:
        raise TaskInvalid(f"{error.filename}:1: {error.strerror}") from None
    except OSError as error:
        raise TaskInvalid(f"{error.filename}:1: cannot be read: {error.strerror}") from None


def tasks_root(explicit: Path | None = None) -> Path:
    """Return the folder of tasks: the flag, PARLEY_TASKS, the nearest tasks/ upwards, this folder, or the bundled tasks."""
    if explicit is not None or os.environ.get("PARLEY_TASKS"):
        root = explicit or Path(os.environ["PARLEY_TASKS"])
        if not os.path.isdir(root):  # noqa: PTH112 - a path too long for any system is none, where Path.is_dir raises
            raise UsageError(f"{root} is not a folder of tasks")
        return root.resolve()
    here = Path.cwd()
    for folder in (parent / "tasks" for parent in (here, *here.parents)):
        if _holds(folder, "*/*/task.toml", "*/task.toml"):
            return folder
    for folder in (here, *own_tasks()):
        if _holds(folder, "*/task.toml") or (folder != here and _holds(folder, "*/*/task.toml")):
            return folder
    raise UsageError("no tasks/ folder here or above", hint="harness --tasks PATH list")


def _holds(folder: Path, *patterns: str) -> bool:
    return folder.is_dir() and any(any(folder.glob(pattern)) for pattern in patterns)


def read_task(folder: Path) -> Task:
    """Read one task folder; raises TaskInvalid with `path:line: what`."""
    toml = folder / "task.toml"
    if not _is_id(folder.name):
        raise TaskInvalid(
            f"{toml}:1: a task's folder name has letters, digits and _ . + -, at most {LONGEST_ID} bytes, not {folder.name!r}"
        )
    if not toml.exists():
        _refuse_other(folder)
    file = read_taskfile(toml)
    with _plain():
        names_in(folder, links=_LINKED if file.metadata.parley is None else None)
    for name in REQUIRED:
        optional = name == "environment" and file.environment.docker_image is not None and file.metadata.parley is None
        if not optional and not (folder / name).exists():
            raise TaskInvalid(f"{toml}:1: the folder lacks {name}", hint=f"harness sync {folder.name}")
    if file.task is not None and file.metadata.parley is not None and file.task.name.rpartition("/")[2] != folder.name:
        raise TaskInvalid(
            f"{toml}:1: task.name ends in {file.task.name.rpartition('/')[2]!r}, but the folder is {folder.name!r}"
        )
    read_text(folder / "instruction.md")
    for name in ("tests/test.sh", "solution/solve.sh"):
        _check_script(folder, name)
    return Task(folder, file)


def _is_id(name: str) -> bool:
    """Return True for a name that is safe as a folder and on a command line: letters of any alphabet, digits and _ . + -."""
    plain = all(letter.isalnum() or letter in "_.+-" or unicodedata.category(letter) in {"Mn", "Mc"} for letter in name)
    return plain and name[:1] not in {"", ".", "+", "-"} and len(os.fsencode(name)) <= LONGEST_ID


def _refuse_other(folder: Path) -> None:
    """Raise TaskInvalid for a task of Terminal-Bench 1, with the command that converts it to Harbor's format."""
    yaml = folder / "task.yaml"
    if yaml.is_file() and _TERMINAL_BENCH.search(read_text(yaml)):
        migrated = f"harbor tasks migrate -i {quoted(folder)} -o {quoted(folder.with_name(f'{folder.name}-harbor'))}"
        raise TaskInvalid(f"{yaml}:1: this is a task of Terminal-Bench 1 (task.yaml), not of Harbor (task.toml)", hint=migrated)


def _check_script(folder: Path, name: str) -> None:
    """Raise TaskInvalid for a script with Windows line endings, which bash cannot run."""
    if not (folder / name).exists():
        return
    with _plain():
        lines = read_file(folder, name).data.split(b"\n")[:-1]
    ended = [number for number, line in enumerate(lines, start=1) if line.endswith(b"\r")]
    if ended and (ended[0] == 1 or 2 * len(ended) > len(lines)):
        raise TaskInvalid(
            f"{folder / name}:{ended[0]}: {name} has CRLF line endings, which bash cannot run",
            hint=f"sed -i 's/\\r$//' {quoted(folder / name)}",
        )


@dataclass(frozen=True)
class RefusedFolder:
    """Folder that cannot be read as a task, with the reason."""

    path: Path
    why: TaskInvalid


@dataclass(frozen=True)
class Survey:
    """Folders below one root: valid tasks, by family folder then name, and folders that cannot be read."""

    tasks: tuple[Task, ...]
    refused: tuple[RefusedFolder, ...]


def survey(root: Path, names: Sequence[str] = ()) -> Survey:
    """Read every folder under `root`. If each of `names` is the name of a folder and not of a family, read only these folders.

    An invalid folder does not hide the others.
    """
    folders = list(_folders(root))
    mine = [folder for folder in folders if folder.name in names]
    if {*names} == {folder.name for folder in mine} and not {*names} & {FOREIGN, *(folder.parent.name for folder in folders)}:
        folders = mine or folders
    tasks: dict[str, Task] = {}
    refused: list[RefusedFolder] = []
    for folder in folders:
        try:
            with _plain():
                _refuse_link(folder)
                task = read_task(folder)
            if (first := tasks.setdefault(task.task_id, task)) is not task:
                raise TaskInvalid(f"{task.path}/task.toml:1: {task.task_id} is also the id of {first.path}")
        except TaskInvalid as why:
            refused.append(RefusedFolder(folder, why))
    return Survey(tuple(tasks.values()), tuple(refused))


def discover(root: Path) -> list[Task]:
    """Return every task under `root`, by family folder then name; raises TaskInvalid for the first invalid folder."""
    surveyed = survey(root)
    for one in surveyed.refused:
        raise one.why
    return list(surveyed.tasks)


def _folders(root: Path) -> Iterator[Path]:
    """Yield the folders that are tasks or should be: with task.toml or similar files, or non-empty ones beside tasks."""
    if _has(root, "task.toml"):
        yield root
        return
    for family in _inner(root):
        if family.is_symlink() or _has(family, "task.toml", *_LOOKS):
            yield family
            continue
        inner = _inner(family)
        beside = any(_has(folder, "task.toml") for folder in inner)
        for folder in inner:
            if folder.is_symlink() or _has(folder, "task.toml", *_LOOKS) or (beside and _has_files(folder)):
                yield folder


def _has(folder: Path, *names: str) -> bool:
    return any(os.path.exists(folder / name) for name in names)  # noqa: PTH110 - what cannot be looked at is not there


def _has_files(folder: Path) -> bool:
    """Return True if a folder contains any file except caches, even if it cannot be read as plain files."""
    try:
        return bool(names_in(folder))
    except OSError:
        return True


def _inner(folder: Path) -> list[Path]:
    """Return the sorted folders in a folder, with links, without hidden ones and caches; empty if it cannot be read."""
    try:
        return sorted(p for p in folder.iterdir() if p.name not in IGNORED and not p.name.startswith(".") and p.is_dir())
    except OSError:
        return []


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise TaskInvalid(f"{folder}:1: is a link to {str(folder.readlink())!r}, and links are not followed")


def select(tasks: Sequence[Task], names: Sequence[str], refused: Sequence[RefusedFolder] = ()) -> list[Task]:
    """Return the tasks that `names` match, in registry order: ids, globs, families or paths. No names match all tasks.

    Raises UnknownTask, with the nearest names, if a name matches nothing, and TaskInvalid if a name refers to one of the
    `refused`.
    """
    if not names:
        return list(tasks)
    known = {task.path.resolve(): task for task in tasks}
    chosen: dict[str, Task] = {}
    for name in names:
        matches = [t for t in tasks if name in (t.task_id, t.family) or fnmatch.fnmatchcase(t.task_id, name)]
        if not matches and (folder := _folder_named(name)) is not None:
            path = folder.resolve()
            matches = [known.get(path) or read_task(path)]
        if not matches:
            raise next((one.why for one in refused if one.path.name == name), None) or _unknown(name, tasks)
        for task in matches:
            if chosen.setdefault(task.task_id, task).path.resolve() != task.path.resolve():
                raise UsageError(f"{task.task_id} is named twice: {chosen[task.task_id].path} and {task.path}")
    order = {task.task_id: place for place, task in enumerate(tasks)}
    return sorted(chosen.values(), key=lambda task: order.get(task.task_id, len(order)))


def _folder_named(name: str) -> Path | None:
    """Return the task folder at a path, which may also be the path of its task.toml; None if the path is not usable."""
    path = Path(name)
    try:
        if path.name == "task.toml" and path.is_file():
            return path.parent
        return path if _has(path, "task.toml", *_LOOKS) else None
    except OSError:
        return None


def _unknown(name: str, tasks: Sequence[Task]) -> UnknownTask:
    if "/" in name and os.path.isdir(name):  # noqa: PTH112 - a path too long for any system is none
        return UnknownTask(f"{name} holds no task.toml", hint=f"harness --tasks {quoted(name)} list")
    names = [t.task_id for t in tasks] + sorted({t.family for t in tasks})
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    return UnknownTask(f"no task named {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""), hint="harness list")
