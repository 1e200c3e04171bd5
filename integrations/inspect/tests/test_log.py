"""Runs that `harness export inspect` writes open in Inspect's own reader and viewer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

ROOT = Path(__file__).parents[3]


def exported(folder: Path, *runs: Sequence[str]) -> list[EvalLog]:
    """The logs of these runs, as Inspect reads them."""
    for number, arguments in enumerate(runs):
        harness("run", *arguments, "--runtime", "inprocess", "--yes", "--out", str(folder / "runs" / str(number)))
    harness("export", "inspect", str(folder / "runs"), "--out", str(folder / "logs"))
    return [read_eval_log(info) for info in list_eval_logs(str(folder / "logs"))]


def harness(*arguments: str) -> None:
    """Our command."""
    done = subprocess.run([sys.executable, "-m", "harness", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr


def test_runs_open_in_inspect(tmp_path: Path) -> None:
    """Samples, scores, metadata and spans of a contract, a calendar and a hidden profile; the viewer bundles them."""
    logs = exported(
        tmp_path,
        ["presigned-url-download", "csrf-form-submit", "--k", "2"],
        ["uniform-01", "--agent", "imap"],
        ["airliner-by-night", "--agent", "pool,silent"],
    )
    samples = [sample for log in logs for sample in log.samples or ()]
    games = [sample for sample in samples if sample.metadata["family"] != "contract"]
    viewer = [
        sys.executable,
        "-m",
        "inspect_ai",
        "view",
        "bundle",
        "--log-dir",
        f"{tmp_path}/logs",
        "--output-dir",
        f"{tmp_path}/site",
    ]
    subprocess.run(viewer, check=True, capture_output=True)

    assert len(logs) == 4
    assert sorted((str(sample.id), sample.epoch) for sample in samples)[:1] == [("calendar/uniform-01/s0", 1)]
    assert len(samples) == 7
    for sample in samples:
        assert sample.scores is not None
        assert sample.scores["reward"].as_float() == sample.metadata["reward"]
        assert sample.scores["success"].answer == sample.metadata["failure_label"]
    for sample in games:
        spans = {event.id: event.name for event in sample.events if event.event == "span_begin"}
        calls = [event for event in sample.events if event.event == "model"]
        assert all(f"seat {seat}" in name for seat, name in enumerate(sorted(spans.values())))
        assert len(spans) >= 3
        assert {event.span_id for event in calls} == set(spans)
        assert all(event.output.message.text for event in calls)
    assert (tmp_path / "site" / "index.html").stat().st_size > 100
