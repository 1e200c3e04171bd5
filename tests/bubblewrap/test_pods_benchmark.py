"""benchmarks/pods.py measures what it says: so many pods open, all graded, the same traces two at a time, nothing left."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from harness.paths import ROOT

pytestmark = pytest.mark.bubblewrap


def test_a_few_pods_at_once_come_out_as_two() -> None:
    """Six pods of two families with a model that takes half a second an answer."""
    tasks = ["--tasks", "presigned-url-download,uniform-01", "--pods", "6", "--rounds", "1", "--pace", "0.3", "0.5"]
    command = [sys.executable, "benchmarks/pods.py", *tasks, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=400)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [(run["episodes"], run["graded"]) for run in said["runs"]] == [(6, 6)] * 2
    assert (said["equal"], said["left"]) == (6, [])
    assert said["runs"][0]["fullest"]["pods"] == 6
    assert said["runs"][0]["peak"]["harness"] > 50
    assert said["runs"][0]["peak"]["others"] > 50
