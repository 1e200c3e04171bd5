"""The array job of docs/running.md, run as Slurm runs it: every shard once, one of them stopped and submitted again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.paths import ROOT


@pytest.mark.property
def test_the_array_job_of_the_docs_plays_and_goes_on(tmp_path: Path) -> None:
    """Two shards merge to all episodes, and a job that is submitted again plays what its shard lacks."""
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", text, re.DOTALL)
    (tmp_path / "parley.sbatch").write_text(script)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shards = tmp_path / "shards"

    def job(number: int) -> None:
        slurm = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_COUNT": "2", "PARLEY_OUT": str(shards), "PATH": path}
        words = ["presigned-url-download", "--seeds", "0-4", "--runtime", "inprocess"]
        command = ["bash", str(tmp_path / "parley.sbatch"), *words]
        subprocess.run(command, env=os.environ | slurm, cwd=ROOT, check=True, capture_output=True, timeout=120)

    job(1)
    job(2)
    (first, *_) = sorted(shards.glob("1/episodes/*/*/*"))
    shutil.rmtree(first)
    job(1)
    merge = ["harness", "merge", str(tmp_path / "all"), *map(str, shards.iterdir())]
    subprocess.run(merge, env=os.environ | {"PATH": path}, check=True, capture_output=True, timeout=60)

    assert len((tmp_path / "all" / "rewards.jsonl").read_text().splitlines()) == 5
