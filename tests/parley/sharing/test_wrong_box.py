"""tests/test.sh on a machine that is not the verifier's: an error and no reward, so that no runner counts a zero."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TASKS = ["contract/presigned-url-download", "calendar/uniform-01", "hidden-profile/airliner-by-night"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "package", ["", "def url(value): ...\n"], ids=["without validators", "with somebody else's validators"]
)
def test_a_wrong_box_is_an_error(root: Path, tmp_path: Path, task: str, package: str) -> None:
    """Exit 2, one line that says why, and a reward that lay there before is gone; a package of that name is not enough."""
    logs, site = tmp_path / "logs", tmp_path / "site"
    logs.mkdir()
    (logs / "reward.json").write_text('{"reward": 1.0}')
    if package:
        (site / "validators").mkdir(parents=True)
        (site / "validators" / "__init__.py").write_text(package)
    _python_without_our_packages(tmp_path / "bin")
    script = (root / "tasks" / task / "tests" / "test.sh").read_text().replace("/logs/verifier", str(logs))

    done = subprocess.run(
        ["bash", "-c", script], env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(site)},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 2, done.stdout + done.stderr
    assert "nothing is judged, this is not the verifier's image: " in done.stderr
    assert "validators" in done.stderr.partition(": ")[2]
    assert len(done.stderr.splitlines()) == 1
    assert list(logs.iterdir()) == []


def _python_without_our_packages(folder: Path) -> None:
    folder.mkdir()
    (folder / "python3").write_text(f'#!/bin/sh\nexec {Path(sys.base_prefix) / "bin" / "python3"} -S "$@"\n')
    (folder / "python3").chmod(0o755)
