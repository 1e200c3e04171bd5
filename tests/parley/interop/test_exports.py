"""`harness export inspect`, `harbor-job` and `scout` by their commands, of runs in folders and packed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

pytestmark = pytest.mark.property


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of an export but Parquet, whose bytes are its writer's affair, with the names of runs left out."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".parquet", ".idx"}]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("form", ["inspect", "harbor-job", "scout"])
def test_a_packed_run_is_exported_like_its_folder(
    harness: Callable[..., CompletedProcess[str]], tmp_path: Path, form: str
) -> None:
    """The export has the same files with the same bytes."""
    run, moved = tmp_path / "run", tmp_path / "elsewhere"
    played = harness("run", "csrf-form-submit", "uniform-01", "--runtime", "inprocess", "--out", run)
    folder = harness("export", form, run, "--out", tmp_path / "folder")
    packed = harness("pack", run)
    run.rename(moved)
    again = harness("export", form, tmp_path / "run.run.parquet", "--out", tmp_path / "packed")

    assert [done.returncode for done in (played, folder, packed, again)] == [0, 0, 0, 0], again.stderr
    assert "2 " in folder.stderr
    assert contents(tmp_path / "folder") == contents(tmp_path / "packed")
    names = [sorted(path.name for path in (tmp_path / one).rglob("*")) for one in ("folder", "packed")]
    assert names[0] == names[1]


def test_nothing_is_written_over(harness: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    """A folder that is not empty is refused before anything is read."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    harness("run", "csrf-form-submit", "--runtime", "inprocess", "--out", tmp_path / "run")
    refused = harness("export", "scout", tmp_path / "run", "--out", tmp_path / "out")

    assert refused.returncode == 2
    assert "is not empty" in refused.stderr
