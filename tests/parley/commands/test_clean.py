"""`harness clean` lists what dead runs left, whose it was and how old, asks, and touches nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.orphans import this_owner

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def dead() -> str:
    """A process of this host that has ended, as an owner."""
    asked = "from harness.orphans import this_owner; print(this_owner())"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def folders(tmp_path: Path, dead: str) -> dict[str, Path]:
    """Of sandboxes: of a dead process, of a live one, of another host, of nobody we know, and one just being made."""
    root = tmp_path / f"parley-{os.geteuid()}"
    root.mkdir(mode=0o700)
    owners = {"pod-dead": dead, "pod-live": this_owner(), "pod-elsewhere": "elsewhere:1:1", "pod-strange": "", ".new-young": ""}
    for name, owner in owners.items():
        (root / name).mkdir()
        if owner:
            (root / name / "owner").write_text(owner, encoding="utf-8")
    return {name: root / name for name in owners}


@pytest.fixture
def half_written(tmp_path: Path, dead: str) -> tuple[Path, Path]:
    """Half an episode of a dead process, in a run that nobody plays and in one that is being played."""
    paths = []
    for name in ("idle", "played"):
        paths.append(tmp_path / "runs" / name / f"episodes/contract/a-task/.s0-a1.{dead.split(':')[1]}.partial")
        paths[-1].mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text("{}", encoding="utf-8")
    return paths[0], paths[1]


def test_only_what_the_dead_left_is_listed_and_removed(
    harness: Command, tmp_path: Path, folders: dict[str, Path], half_written: tuple[Path, Path], dead: str
) -> None:
    """Listed with its owner, kept by --dry-run and where nobody can say yes, removed by --yes; everything else stays."""
    env = {"TMPDIR": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none"}
    clean, pid = ("clean", "--runs", tmp_path / "runs"), dead.split(":")[1]
    mine = {str(folders["pod-dead"]), str(half_written[0])}
    door = os.open(tmp_path / "runs/played", os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(door, fcntl.LOCK_EX)
    try:
        listed = json.loads(harness(*clean, "--dry-run", "--json", env=env).stdout)
        asked = harness(*clean, env=env)
        kept = [folder.exists() for folder in (*folders.values(), *half_written)]
        done = harness(*clean, "--yes", env=env)
    finally:
        os.close(door)
    own = [one for one in listed["left"] if one["kind"] != "cgroup"]

    assert {one["name"] for one in own} == mine
    assert {one["process"] for one in own} == {pid}
    assert all(one["age_s"] < 600 for one in own)
    assert listed["removed"] == []
    assert (asked.returncode, all(kept)) == (2, True)
    assert "needs confirmation at a terminal\n  try: harness clean --yes" in asked.stderr
    assert all(name in asked.stdout for name in mine)
    assert done.returncode == 0, done.stderr
    assert {name for name, folder in folders.items() if not folder.exists()} == {"pod-dead"}
    assert [path.exists() for path in half_written] == [False, True]


def test_nothing_left_is_said(harness: Command, tmp_path: Path) -> None:
    """Where nothing is left, nobody is asked; control groups are the machine's, and may be another run's."""
    env = {"TMPDIR": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none"}
    listed = json.loads(harness("clean", "--dry-run", "--json", env=env).stdout)["left"]
    done = harness("clean", env=env)

    assert {one["kind"] for one in listed} <= {"cgroup"}
    assert (done.returncode, done.stdout) == (0, "") or listed
    assert "there are no leftovers of dead runs" in done.stderr
