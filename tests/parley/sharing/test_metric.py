"""metric.py of an export: run as Harbor runs it, and over a job's folder, against known intervals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.registry import read_task
from parley.sharing import metric
from parley.sharing.bases import LocalBases
from parley.sharing.catalogue import write_harbor
from parley.statistics import wilson as our_wilson


@pytest.fixture
def script(root: Path, tmp_path: Path) -> Path:
    """The script as an export of one task has it."""
    write_harbor(tmp_path / "out", [read_task(root / "tasks" / "contract" / "presigned-url-download")], LocalBases())
    return tmp_path / "out" / "metric.py"


def test_harbor_s_call(script: Path, tmp_path: Path) -> None:
    """Rewards in, numbers out; a null is a trial without a verdict, counted and no zero; the export's one task counts once."""
    (tmp_path / "rewards.jsonl").write_text('{"reward": 1.0}\n{"reward": 0.0}\nnull\n{"reward": 1.0}\n')

    _run(script, "-i", tmp_path / "rewards.jsonl", "-o", tmp_path / "metric.json")
    told = json.loads((tmp_path / "metric.json").read_text())

    assert (told["mean"], told["graded"], told["ungraded"]) == (pytest.approx(2 / 3), 3, 1)
    assert (told["low"], told["high"]) == pytest.approx(metric.wilson(2 / 3, 1))
    assert all(isinstance(value, (int, float)) for value in told.values())


def test_a_job_is_clustered_by_task(script: Path, tmp_path: Path) -> None:
    """Three tries that all agree are worth one: the interval is that of the tasks."""
    _job(tmp_path / "job", {f"t{n}": [float(n % 2)] * 3 for n in range(10)})

    told = json.loads(_run(script, "--job", tmp_path / "job").stdout)

    assert (told["mean"], told["tasks"], told["graded"]) == (0.5, 10, 30)
    # 10 clusters that do not vary inside: 9 independent trials, by the usual correction
    assert (told["low"], told["high"]) == pytest.approx(metric.wilson(0.5, 9))


def test_tries_that_differ_are_worth_more() -> None:
    """Tries as independent as coins are worth more than tasks, and never more than their number."""
    mixed = metric.clustered({f"t{n}": [1.0, 0.0] for n in range(10)})
    split = metric.clustered({f"t{n}": [float(n % 2)] * 2 for n in range(10)})

    assert mixed["high"] - mixed["low"] < split["high"] - split["low"]
    assert (mixed["low"], mixed["high"]) == pytest.approx(metric.wilson(0.5, 10))
    assert metric.clustered({"a": [None]}) == {"mean": 0.0, "low": 0.0, "high": 1.0, "graded": 0, "ungraded": 1}


def test_wilson_is_the_report_s() -> None:
    """Equal to the interval of our own tables, to the rounding of 1.96."""
    for hits, of in ((0, 10), (7, 10), (10, 10), (150, 218)):
        assert metric.wilson(hits / of, of) == pytest.approx(our_wilson(hits, of), abs=1e-6)


def test_a_reward_by_another_name_is_refused() -> None:
    """A verifier of another project says something else; averaging that would be a made-up number."""
    with pytest.raises(SystemExit, match="a trial has no reward, but score"):
        metric.reward_of({"score": 1.0})


def _run(script: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", script, *map(str, arguments)], capture_output=True, text=True, check=True, timeout=60
    )


def _job(folder: Path, tasks: Mapping[str, Sequence[float]]) -> None:
    """A job of Harbor, as far as rewards go."""
    for name, rewards in tasks.items():
        for number, reward in enumerate(rewards):
            path = folder / f"{name}__{number}" / "result.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"task_name": name, "verifier_result": {"rewards": {"reward": reward}}}))
