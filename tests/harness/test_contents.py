"""A folder that others wrote is read as plain files within bounds, or refused by the path of what is not: nothing leads out."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import safe_read
from harness.errors import TaskInvalid, UnknownTask, UsageError
from harness.limits import Limit
from harness.registry import Task, discover, files_of, folder_digest, read_task, select, tasks_root
from harness.runtimes.docker.engine.images import folder_context
from harness.safe_read import NotPlain, names_in, read_file, read_folder

ENVIRON = Path("/proc/self/environ")
Plant = Callable[[Path], object]


def unix_socket(path: Path) -> None:
    """A socket of the file system; its path is given relative, since it may take 107 bytes at most."""
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def file_in_linked_folder(path: Path) -> None:
    """A link to a folder, in a folder's place."""
    path.symlink_to(path.parents[2], target_is_directory=True)


PLANTS: dict[str, tuple[Plant, str]] = {
    "environ": (lambda path: path.symlink_to(ENVIRON), "is a link to '/proc/self/environ', and links are not followed"),
    "shadow": (lambda path: path.symlink_to("/etc/shadow"), "is a link to '/etc/shadow', and links are not followed"),
    "nowhere": (lambda path: path.symlink_to("nowhere"), "is a link to 'nowhere', and links are not followed"),
    "inside": (lambda path: path.symlink_to("../task.toml"), "is a link to '../task.toml', and links are not followed"),
    "folder": (file_in_linked_folder, "is a link to '/"),
    "fifo": (os.mkfifo, "is a FIFO, not a file"),
    "socket": (unix_socket, "is a socket, not a file"),
    "line feed": (lambda path: (path.parent / "a\nb").touch(), "holds 'a\\nb', a name with control characters"),
    "no UTF-8": (lambda path: Path(os.fsdecode(os.fsencode(path) + b"\xff")).touch(), "a name with control characters"),
}
"""What lies in a folder, and how it is refused."""


@pytest.fixture
def folder(presigned: Task, tmp_path: Path) -> Path:
    """A copy of a real task."""
    copy = tmp_path / "tasks" / "contract" / presigned.task_id
    shutil.copytree(presigned.path, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.parametrize("part", ["environment/api", "tests", "solution", "environment"])
@pytest.mark.parametrize("name", PLANTS)
def test_what_is_not_plain_is_refused_by_its_path(folder: Path, name: str, part: str) -> None:
    """At discovery, by a digest and by a build context alike; a FIFO would have made any of them wait for ever."""
    plant, what = PLANTS[name]
    plant(folder / part / "planted")
    readers: tuple[Callable[[], object], ...] = (
        lambda: read_task(folder),
        lambda: discover(folder.parents[1]),
        lambda: folder_digest(folder),
        lambda: files_of(folder / part),
        lambda: folder_context(folder, part=part),
    )
    for read in readers:
        with pytest.raises(TaskInvalid, match=re.escape(what)) as refused:
            read()
        assert str(refused.value).startswith(f"{folder / part}")
        assert ":1: " in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_device_is_refused(folder: Path) -> None:
    """A device among the tests is named, and not opened."""
    os.mknod(folder / "tests" / "zero", 0o20644, os.makedev(1, 5))

    with pytest.raises(TaskInvalid, match=r"tests/zero:1: is a device, not a file$"):
        read_task(folder)


@pytest.mark.parametrize("part", ["environment", "environment/api", "tests", "solution", "task.toml", "instruction.md"])
def test_part_that_is_a_link(folder: Path, tmp_path: Path, part: str) -> None:
    """A part of a folder that lies elsewhere, whole and valid, is refused all the same."""
    (folder / part).rename(tmp_path / "elsewhere")
    (folder / part).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(TaskInvalid, match=rf"{part}:1: is a link to '.*elsewhere', and links are not followed$"):
        read_task(folder)


@pytest.mark.parametrize("place", ["contract", "contract/presigned-url-download"])
def test_folder_that_is_a_link(folder: Path, tmp_path: Path, place: str) -> None:
    """Nor is a task, or a family of them, somewhere else."""
    linked = tmp_path / "tasks" / place
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(TaskInvalid, match=r":1: is a link to '.*elsewhere', and links are not followed$"):
        discover(tmp_path / "tasks")


def test_hard_link_is_a_file(folder: Path) -> None:
    """Nothing tells it from one."""
    os.link(folder / "instruction.md", folder / "tests" / "hard")

    assert read_file(folder, "tests/hard") == read_file(folder, "instruction.md")
    assert read_task(folder).task_id == folder.name


def test_lock_of_an_editor_is_passed_over(folder: Path) -> None:
    """Emacs keeps a dangling link beside each file that is being edited."""
    before = folder_digest(folder)
    (folder / ".#task.toml").symlink_to("somebody@somewhere.4711")

    assert folder_digest(folder) == before


def test_link_swapped_in_after_the_look(folder: Path) -> None:
    """Between listing and reading, a file and then its folder are exchanged for links: an error each time, and no leak."""
    listed = names_in(folder, "tests")
    assert "test.sh" in listed
    (folder / "tests" / "test.sh").unlink()
    (folder / "tests" / "test.sh").symlink_to(ENVIRON)
    with pytest.raises(NotPlain) as refused:
        read_file(folder, "tests/test.sh")
    assert (refused.value.filename, refused.value.strerror) == (
        str(folder / "tests" / "test.sh"),
        "is a link to '/proc/self/environ', and links are not followed",
    )
    shutil.rmtree(folder / "tests")
    (folder / "tests").symlink_to("/proc/self")
    with pytest.raises(NotPlain, match=r"is a link to '/proc/self', and links are not followed"):
        read_file(folder, "tests/environ")


def test_fifo_swapped_in_after_the_look(folder: Path) -> None:
    """Whoever opens it must not wait for somebody to write."""
    (folder / "instruction.md").unlink()
    os.mkfifo(folder / "instruction.md")

    with pytest.raises(NotPlain, match="is a FIFO, not a file"):
        read_file(folder, "instruction.md")


def test_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many files, too many bytes, too long a file, folders too deep: each is one line with the path."""
    assert len(names_in(folder)) > 10
    for name, least, what in (
        ("FILES", Limit(10, "files", "files"), r"holds more than 10 files \(limit files\)"),
        ("FOLDER_BYTES", Limit(100, "folder_bytes"), r"holds more than 100 bytes \(limit folder_bytes\)"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(safe_read, name, least)
            with pytest.raises(TaskInvalid, match=rf"{folder}:1: {what}$"):
                read_task(folder)
    with pytest.raises(NotPlain, match="is longer than 100 bytes"):
        read_file(folder, "instruction.md", Limit(100, "x"))
    deep = folder.joinpath("solution", *["d"] * 70)
    deep.mkdir(parents=True)
    with pytest.raises(TaskInvalid, match="is nested deeper than 64 folders"):
        read_task(folder)


def test_sparse_file_takes_no_memory(folder: Path) -> None:
    """A file of a terabyte that is nothing but a hole is refused by its length."""
    with (folder / "tests" / "huge").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(TaskInvalid, match=r"holds more than \d+ bytes"):
        folder_digest(folder)


def test_file_that_says_it_is_empty() -> None:
    """What /proc says is of no size is read to its end all the same, within the bound."""
    assert read_file(Path(f"/proc/{os.getpid()}"), "status").data.startswith(b"Name:")
    with pytest.raises(NotPlain, match="is longer than 10 bytes"):
        read_file(Path(f"/proc/{os.getpid()}"), "status", Limit(10, "x"))


def test_folder_as_it_is(tmp_path: Path) -> None:
    """Names relative to the part, sorted; bytes, and the owner's executable bit."""
    for name, mode in (("a/x", 0o755), ("a/b/y", 0o644), ("a-b", 0o600)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
        (tmp_path / name).chmod(mode)

    assert names_in(tmp_path) == ["a-b", "a/b/y", "a/x"]
    assert read_folder(tmp_path, "a") == {"b/y": (b"a/b/y", False), "x": (b"a/x", True)}


@pytest.mark.parametrize(
    "name", ["a b", "-rf", ".hidden", "ü\u202e", "x" * 129, "new\nline", "$(id)", "a:b"], ids=lambda name: repr(name)[:12]
)
def test_names_that_become_paths(folder: Path, name: str) -> None:
    """A folder's name is a task's id, which becomes a folder of every run and a part of its images' names."""
    renamed = folder.rename(folder.with_name(name))

    with pytest.raises(TaskInvalid, match="a task's folder name has letters, digits"):
        read_task(renamed)


BOMBS: dict[str, tuple[bytes, str]] = {
    "nested arrays": (b"a=" + b"[" * 5000 + b"]" * 5000, "1: not TOML: "),
    "nested tables": (b"a=" + b"{a=" * 5000 + b"1" + b"}" * 5000, "1: not TOML: "),
    "deep header": (b"[" + b".".join([b"a"] * 900) + b"]", "1: its tables are nested more than 32 deep"),
    "deep key": (b".".join([b"metadata", *[b"a"] * 5000]) + b"=1", "1: not TOML: "),
    "integer": (b"a=" + b"9" * 5000, "1: holds a number of 300 digits (limit digits) or more"),
    "50 MB": (b"#" * 50_000_000, "1: is longer than 262144 bytes"),
    "zero byte": (b"a=1\0", "1: not TOML: "),
    "no UTF-8": (b"a='\xff'", "1: task.toml is not UTF-8 (byte 3)"),
    "half a pair": (b'a="\\ud800"', "1: not TOML: "),
    "key twice": (b"a=1\na=2", "not TOML: "),
}


@pytest.mark.parametrize("name", BOMBS)
def test_task_file_made_to_break_its_readers(folder: Path, name: str) -> None:
    """Each is one line with the path, and no traceback."""
    content, what = BOMBS[name]
    (folder / "task.toml").write_bytes(content)

    with pytest.raises(TaskInvalid) as refused:
        read_task(folder)
    assert str(refused.value).startswith(f"{folder}/task.toml:")
    assert what in str(refused.value)


def test_paths_that_no_system_has(folder: Path) -> None:
    """A name of five thousand letters is an unknown task, or no folder of tasks."""
    with pytest.raises(UnknownTask):
        select(discover(folder), ["x" * 5000])
    with pytest.raises(UsageError, match="is not a folder of tasks"):
        tasks_root(Path("x" * 5000))
