"""A run's folder: whole files or none, finished episodes kept, half ones swept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError, UsageError
from harness.records import Key, Result, RunFolder

KEY = Key(task_id="t", family="f", seed=3, attempt=2)


def result(**changes: Any) -> Result:
    """A finished episode's result."""
    fields: dict[str, Any] = {
        "run": "r", "task_id": "t", "family": "f", "seed": 3, "attempt": 2, "agent": "oracle", "runtime": "inprocess",
        "status": "graded", "success": True, "reward": 1.0, "failure_label": "SUCCESS", "key_digest": "0" * 16,
        "trace_hash": "a" * 64,
    }  # fmt: skip
    return Result(**{**fields, **changes})


def files(**changes: Any) -> dict[str, bytes]:
    """An episode's files."""
    return {"result.json": result(**changes).model_dump_json().encode(), "events.jsonl": b"log\n"}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """An empty run."""
    return RunFolder(tmp_path / "run")


def below(path: Path) -> list[str]:
    """Every file below a path."""
    return sorted(found.relative_to(path).as_posix() for found in path.rglob("*") if found.is_file())


def test_episode_path(folder: RunFolder) -> None:
    """Family, task, seed and attempt make the path."""
    assert folder.path / "episodes/f/t/s3-a2" == folder.episode(KEY)


def test_write_then_finished(folder: RunFolder) -> None:
    """What is written is finished, and nothing else lies about."""
    folder.write(KEY, files())

    assert result() == folder.finished(KEY)
    assert ["episodes/f/t/s3-a2/events.jsonl", "episodes/f/t/s3-a2/result.json"] == below(folder.path)


def test_key_of_a_result() -> None:
    """A result knows which episode it is."""
    assert KEY == result().key


def test_earlier_attempts_are_kept(folder: RunFolder) -> None:
    """An ungraded episode written again moves its earlier evidence to attempts/, numbered."""
    for number in range(3):
        folder.write(KEY, files(status="ungraded", reward=None, error=str(number)))
    kept = [
        json.loads((folder.path / f"episodes/f/t/attempts/s3-a2.{number}/result.json").read_bytes())["error"]
        for number in (0, 1)
    ]

    assert (["0", "1"], "2") == (kept, getattr(folder.finished(KEY), "error", None))


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_truncated_result_is_not_finished(folder: RunFolder, length: int) -> None:
    """A result that does not read whole is none, and an episode written over it keeps it as evidence."""
    path = folder.write(KEY, files()) / "result.json"
    path.write_bytes(path.read_bytes()[:length])

    assert folder.finished(KEY) is None
    folder.write(KEY, files())
    assert (result(), 4) == (folder.finished(KEY), len(below(folder.path)))


@pytest.mark.parametrize("content", [b"[]", b"null", b"\xff", b'{"run":"r"}'])
def test_other_json_is_not_finished(folder: RunFolder, content: bytes) -> None:
    """Nor is one that is no result."""
    (folder.write(KEY, files()) / "result.json").write_bytes(content)

    assert folder.finished(KEY) is None


def test_sweep_takes_what_dead_processes_left(folder: RunFolder) -> None:
    """Half-written folders and files of processes that are gone are removed and named, those of living ones stay."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        episodes = folder.path / "episodes/f/t"
        for pid in (dead.pid, living.pid, os.getpid()):
            (episodes / f".s3-a2.{pid}.partial").mkdir(parents=True)
            (folder.path / f".run.json.{pid}").touch()
        swept = sorted(path.name for path in folder.sweep())
        living.communicate(b"\n")

    assert (
        sorted(
            f"{prefix}{pid}{end}"
            for pid in (dead.pid, os.getpid())
            for prefix, end in ((".run.json.", ""), (".s3-a2.", ".partial"))
        )
        == swept
    )
    assert [f".s3-a2.{living.pid}.partial"] == [path.name for path in episodes.iterdir()]


def test_plan_round_trip(folder: RunFolder) -> None:
    """A plan reads back; before it is written there is none."""
    assert folder.read_plan() is None
    folder.write_plan({"identity": {"seeds": [0]}, "path": Path("/x")})

    assert folder.read_plan() == {"identity": {"seeds": [0]}, "path": "/x"}
    assert [path.name for path in folder.path.iterdir()] == ["run.json"]


def test_rewards(folder: RunFolder) -> None:
    """One line an episode with the fields a trainer reads."""
    folder.write_rewards([result(), result(reward=None, status="ungraded", failure_label=None, trace_hash=None)])
    rows = [json.loads(line) for line in (folder.path / "rewards.jsonl").read_text(encoding="utf-8").splitlines()]

    assert [(1.0, "SUCCESS", "graded", 3, 2), (None, None, "ungraded", 3, 2)] == [
        (row["reward"], row["failure_label"], row["status"], row["seed"], row["attempt"]) for row in rows
    ]


def test_graded_episode_is_never_written_again(folder: RunFolder) -> None:
    """A second grade is refused, and the first stands with nothing beside it."""
    folder.write(KEY, files())
    with pytest.raises(UsageError, match="s3-a2 is already graded") as refused:
        folder.write(KEY, files(reward=0.0, success=False))

    assert folder.finished(KEY) == result()
    assert len(below(folder.path)) == 2
    assert f"--resume {folder.path}" in refused.value.hint


def test_episode_that_cannot_be_written_leaves_nothing(folder: RunFolder) -> None:
    """Where one of its files cannot be written, there is no episode, and no half of one for the next sweep to guess about."""
    with pytest.raises(HarnessError):
        folder.write(KEY, {**files(), "x" * 300: b""})

    assert [path for path in folder.path.rglob("*") if path.is_file()] == []
    assert list(folder.episode(KEY).parent.iterdir()) == []


def test_run_is_held_by_one_process(folder: RunFolder) -> None:
    """While one holds it another is refused, and afterwards let in, also where the first was killed."""
    code = "import sys; from pathlib import Path; from harness.records import RunFolder\n"
    code += "with RunFolder(Path(sys.argv[1])).held(): print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, folder.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="another process is playing this run") as refused, folder.held():
            pass
        other.kill()
    with folder.held():
        assert list(folder.path.iterdir()) == []

    assert str(folder.path) in str(refused.value)
    assert refused.value.hint


def test_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    """A run below a file is a wrong flag."""
    (tmp_path / "file").touch()

    with (
        pytest.raises(UsageError, match="file/run cannot be written: Not a directory"),
        RunFolder(tmp_path / "file" / "run").held(),
    ):
        pass
