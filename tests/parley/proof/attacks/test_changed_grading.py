"""A script that [verifier.env] has bash read before the tests, on this host's own bash."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.registry import Task, read_task
from parley.proof.attacks import grading
from parley.proof.attacks.grading import BROKEN, YEAR_DAYS, a_year_later, before_tests, begun_on

TESTS = "cat /dev/null && grep -q root /etc/passwd && echo passed; date +%F\n"


@pytest.fixture
def task(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """One of ours, with a place of this test's own for scripts."""
    monkeypatch.setattr(grading, "SCRATCH", str(tmp_path))
    return read_task(root / "tasks/contract/presigned-url-download")


def run(task: Task, folder: Path, name: str = "test.sh") -> subprocess.CompletedProcess[bytes]:
    """The tests, run as a runtime does."""
    (folder / name).write_text(TESTS, encoding="utf-8")
    env = {**os.environ, **task.file.verifier.env}
    return subprocess.run(["bash", str(folder / name)], env=env, capture_output=True, check=False)


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_verifier_does_not_get_to_its_pass(how: str, task: Task, tmp_path: Path) -> None:
    """Each way to break one does; other scripts are left alone."""
    broken = before_tests(task, BROKEN[how])

    assert b"passed" in run(task, tmp_path).stdout
    assert b"passed" not in run(broken, tmp_path).stdout
    assert b"passed" in run(broken, tmp_path, "other.sh").stdout
    assert broken.digest == task.digest


def test_a_verifier_in_a_year_says_so(task: Task, tmp_path: Path) -> None:
    """The date that its tests read is a year ahead, and so is the one that it says they begin on."""
    done = run(a_year_later(task), tmp_path)

    begun = begun_on(done.stderr)
    assert begun is not None
    assert abs(begun - datetime.now(UTC).date() - timedelta(days=YEAR_DAYS)) <= timedelta(days=2)
    assert begun.isoformat().encode() in done.stdout
    assert begun_on(run(task, tmp_path).stderr) is None
