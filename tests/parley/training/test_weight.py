"""Episodes are light: they load nothing that worlds and pytest do not load, and thousands of them leave nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from harness.paths import ROOT

LOADED = """
import json, pkgutil, sys
import pytest, tomli, worlds
for module in pkgutil.walk_packages(worlds.__path__, "worlds."):
    if module.name.rpartition(".")[2] not in {"serve", "served", "bridge", "operations", "depends", "connections"}:
        __import__(module.name)
tops = lambda: {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
before = tops()
from parley.training import Episode
for task in ("presigned-url-download", "uniform-01", "airliner-by-night"):
    episode = Episode()
    episode.reset(task)
    while not episode.done:
        episode.submit(episode.turns[0].id, "I do not know.")
    assert episode.verdict().label != "SUCCESS"
print(json.dumps(sorted(name for name in tops() - before if not name.startswith(("_", "parley_task_")))))
"""


@pytest.mark.property
def test_episodes_load_nothing_that_worlds_do_not() -> None:
    """Beside pytest and what worlds are made of there are our own packages alone: no model client, no engine, no server."""
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) - {"harness", "parley", "oracles", "validators"} == set()


@pytest.mark.property
def test_many_episodes_at_once_leave_nothing_behind() -> None:
    """Hundreds of mixed episodes, all open at once, round after round: all are judged, and memory is as it was."""
    command = [sys.executable, "benchmarks/training.py", "--episodes", "60", "--rounds", "4", "--processes", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [one["judged"] for one in said["rounds"]] == [60] * 4
    assert {one["digest"] for one in said["rounds"]} == {said["rounds"][0]["digest"]}
    assert said["rounds"][3]["mib"] - said["rounds"][1]["mib"] < 12
