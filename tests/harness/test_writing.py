"""What a run writes: nowhere but below its folder, by nobody but its owner, and with one line where the system refuses."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.atomic_write import make_folder, writing
from harness.errors import RuntimeFailure, UsageError
from harness.records import Key, Result, RunFolder
from harness.safe_read import NotPlain
from parley.reports.evidence import read_runs

Command = Callable[..., subprocess.CompletedProcess[str]]
TASK = "presigned-url-download"
KEY = Key(task_id="t", family="f", seed=3, attempt=2)
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="mounting is root's")


def result(**changes: Any) -> Result:
    """A finished episode's result."""
    fields: dict[str, Any] = {
        "run": "r", "task_id": "t", "family": "f", "seed": 3, "attempt": 2, "agent": "oracle", "runtime": "inprocess",
        "status": "ungraded", "key_digest": "0" * 16,
    }  # fmt: skip
    return Result(**{**fields, **changes})


def writable_by_others(path: Path) -> list[str]:
    """Everything from a path down that its group or others can write."""
    return [str(one) for one in (path, *path.rglob("*")) if not one.is_symlink() and one.stat().st_mode & 0o022]


@pytest.fixture(params=[0o000, 0o077, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """The umask for the time of a test."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_nobody_else_can_write_a_run(tmp_path: Path, umask: int) -> None:
    """Folders with all above them, records, and what is kept of earlier attempts, as a library writes them."""
    folder = RunFolder(tmp_path / "runs" / "today" / "mine")
    with folder.held():
        folder.write_plan({"identity": {}})
        for _ in range(2):
            folder.write(KEY, {"result.json": result().model_dump_json().encode()})
        folder.write_rewards([result()])
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs").rglob("*")}

    assert writable_by_others(tmp_path / "runs") == []
    assert modes == {0o755 & ~umask, 0o644 & ~umask}


@pytest.mark.parametrize(
    "changes",
    [
        {"family": "../../x"}, {"family": "/etc"}, {"family": ".."}, {"family": "a/b"}, {"family": ""}, {"family": "a\n"},
        {"task_id": "../../../x"}, {"task_id": "/x"}, {"task_id": "."}, {"task_id": "x" * 300}, {"task_id": "a\0b"},
        {"seed": -1}, {"seed": 10**400}, {"attempt": -1},
    ],
    ids=str,
)  # fmt: skip
def test_result_that_names_another_place_is_none(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Neither an episode nor a result can have such a name, and a report of a run that holds one says which file it is."""
    for kind in (Key, Result):
        with pytest.raises(ValueError, match="validation error"):
            kind.model_validate({**result().model_dump(), **changes} if kind is Result else {**KEY.model_dump(), **changes})
    folder = RunFolder(tmp_path / "run")
    folder.write_plan({"identity": {"tasks": {}, "seeds": [], "attempts": 1, "agent": {}, "budget": {}}})
    path = folder.write(KEY, {}) / "result.json"
    path.write_text(result().model_copy(update=changes).model_dump_json(), encoding="utf-8")

    with pytest.raises(UsageError, match=r"s3-a2/result\.json is not a valid result of this version: "):
        read_runs([folder.path])
    assert folder.finished(KEY) is None


@pytest.mark.parametrize("linked", ["episodes", "episodes/f", "episodes/f/t", "episodes/f/t/s3-a2", "episodes/f/t/attempts"])
def test_link_that_leads_out_of_a_run(tmp_path: Path, linked: str) -> None:
    """A run that came from elsewhere with a link in it writes nothing where that leads."""
    folder, outside = RunFolder(tmp_path / "run"), tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    if linked.endswith("attempts"):
        folder.write(KEY, {"result.json": b"{}"})
    (folder.path / linked).parent.mkdir(parents=True, exist_ok=True)
    (folder.path / linked).symlink_to(outside)

    with pytest.raises(UsageError, match=r"leads out of|is a link, so earlier attempts cannot be kept there"):
        folder.write(KEY, {"result.json": result().model_dump_json().encode()})
    assert [path.name for path in outside.rglob("*")] == ["kept"]


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("/proc/self/environ"), os.mkfifo, Path.mkdir])
def test_result_that_is_no_file(tmp_path: Path, plant: Callable[[Path], object]) -> None:
    """It is not read, its episode is not finished, and playing that again keeps it as evidence."""
    folder = RunFolder(tmp_path / "run")
    plant(folder.write(KEY, {}) / "result.json")

    assert folder.finished(KEY) is None
    with pytest.raises(UsageError, match=r"result\.json is not a valid result of this version: "):
        list(folder.results())
    folder.write(KEY, {"result.json": result().model_dump_json().encode()})
    assert folder.finished(KEY) == result()


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[]", b"\xff", b"9" * 5000, b""])
def test_plan_that_is_none(tmp_path: Path, content: bytes) -> None:
    """A run.json that was broken, or made to break its readers, is named."""
    (tmp_path / "run.json").write_bytes(content)

    with pytest.raises(UsageError, match=r"run\.json is not a valid plan"):
        RunFolder(tmp_path).read_plan()


def test_plan_that_is_a_link(tmp_path: Path) -> None:
    """A run's folder may be reached by a link; its files are its own."""
    RunFolder(tmp_path / "run").write_plan({"identity": {}})
    (tmp_path / "latest").symlink_to(tmp_path / "run")
    assert RunFolder(tmp_path / "latest").read_plan() == {"identity": {}}
    (tmp_path / "run" / "run.json").unlink()
    (tmp_path / "run" / "run.json").symlink_to("/proc/self/environ")

    with pytest.raises(UsageError, match=r"run\.json is not a valid plan: is a link"):
        RunFolder(tmp_path / "run").read_plan()


def test_who_is_to_blame_for_a_path(tmp_path: Path) -> None:
    """What another path would mend is a wrong flag; what none would is the machine's trouble."""
    with pytest.raises(UsageError, match="cannot be written: File name too long"), writing(tmp_path):
        make_folder(tmp_path / ("x" * 300))
    with pytest.raises(UsageError, match=r"^/xxx.*\.\.\.x+ cannot be written: "), writing(Path("/" + "x" * 5000)):
        make_folder(Path("/" + "x" * 5000))
    with pytest.raises(RuntimeFailure, match="cannot be written: No space left on device"), writing(tmp_path):
        Path("/dev/full").write_text("x", encoding="utf-8")
    assert issubclass(NotPlain, OSError)


OUTS: dict[str, tuple[str, str]] = {
    "a file": ("file", "File exists"),
    "below a file": ("file/run", "Not a directory"),
    "too long": ("x" * 300, "File name too long"),
    "far too long": ("/".join(["x" * 100] * 60), "File name too long"),
    "read-only": ("/proc/run", "No such file or directory"),
}


@pytest.mark.property
@pytest.mark.parametrize("name", OUTS)
def test_out_that_cannot_be(harness: Command, tmp_path: Path, name: str) -> None:
    """A wrong --out is one line, a hint and exit code 2."""
    out, why = OUTS[name]
    (tmp_path / "file").touch()
    done = harness("run", TASK, "--runtime", "inprocess", "--out", tmp_path / out)

    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"cannot be written: {why}" in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("harness: ")]) == 1


@ROOT_ONLY
@pytest.mark.bubblewrap
@pytest.mark.parametrize("seeds", ["0-3", "0-59"])
def test_full_disk_keeps_what_is_finished(harness: Command, tmp_path: Path, seeds: str) -> None:
    """One line and exit code 3, by threads and by processes; with more room the run goes on where it stopped."""
    disk = tmp_path / "disk"
    disk.mkdir()
    room = "100k" if seeds == "0-3" else "1m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room},mode=0755", "tmpfs", disk], check=True)
    try:
        full = harness("run", TASK, "--runtime", "inprocess", "--seeds", seeds, "--out", disk / "run")
        finished = {path: path.read_bytes() for path in disk.rglob("result.json")}
        left = [path.name for path in disk.rglob(".*")]
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        again = harness("run", TASK, "--runtime", "inprocess", "--seeds", seeds, "--resume", disk / "run")
        kept = {path: path.read_bytes() for path in finished}
        episodes = len(list(disk.rglob("result.json")))
    finally:
        subprocess.run(["umount", "-l", disk], check=True)

    assert (full.returncode, again.returncode, "Traceback" in full.stderr) == (3, 0, False)
    assert "cannot be written: No space left on device" in full.stderr
    assert (finished == kept, left, episodes) == (True, [], int(seeds[2:]) + 1)
    assert finished


@ROOT_ONLY
@pytest.mark.bubblewrap
@pytest.mark.parametrize("size", ["4k", "8k", "16k"])
def test_disk_that_is_full_from_the_start(harness: Command, tmp_path: Path, size: str) -> None:
    """Wherever it runs out, at the plan or in the first episode, it is one line."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", disk], check=True)
    try:
        full = harness("run", TASK, "--runtime", "inprocess", "--out", disk / "run")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)

    assert (full.returncode, "Traceback" in full.stderr) == (3, False)
    assert "cannot be written: No space left on device" in full.stderr


@ROOT_ONLY
@pytest.mark.bubblewrap
def test_read_only_disk_is_another_path(harness: Command, tmp_path: Path) -> None:
    """Read-only file systems are a wrong flag: another --out mends them."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", disk], check=True)
    try:
        done = harness("run", TASK, "--runtime", "inprocess", "--out", disk / "run")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)

    assert (done.returncode, "cannot be written: Read-only file system" in done.stderr) == (2, True)


@pytest.mark.property
@pytest.mark.parametrize("umask", ["000", "077"])
def test_umask_of_the_command_line(root: Path, tmp_path: Path, umask: str) -> None:
    """A run of the command, and an export beside it, under either."""
    command = f'umask {umask}; exec "$@"'
    python = [sys.executable, "-m", "harness"]
    for arguments in (
        ["run", TASK, "--runtime", "inprocess", "--seeds", "0-31", "--out", str(tmp_path / "runs" / "a")],
        ["export", "episodes", str(tmp_path / "runs" / "a"), "--out", str(tmp_path / "runs" / "a.jsonl")],
    ):
        subprocess.run(["sh", "-c", command, "sh", *python, *arguments], cwd=root, check=True, capture_output=True, timeout=120)

    assert (tmp_path / "runs" / "a.jsonl").stat().st_size > 1000
    assert writable_by_others(tmp_path / "runs") == []
