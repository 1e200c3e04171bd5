"""A run that is stopped at any stage by any signal ends at once, leaves nothing, and goes on as if nobody had stopped it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harness.runs.stopping import STAGES, StoppableRuns, stoppable_runs

pytestmark = pytest.mark.property

Command = Callable[..., subprocess.CompletedProcess[str]]
LIMIT_S = 20.0
"""Tells seconds from for ever."""

TASK = "presigned-url-download"
SIGNALS = {
    "int": ([signal.SIGINT], 130),
    "int-twice": ([signal.SIGINT, signal.SIGINT], 130),
    "term": ([signal.SIGTERM], 143),
    "hup": ([signal.SIGHUP], 129),
    "kill": ([signal.SIGKILL], -9),
}
EPISODES, CHUNKED = 3, 40
"""The second number is played by processes."""

KILLS, MOST_OPERATIONS = 20, 25


@pytest.fixture(scope="module")
def runs(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoppableRuns]:
    """Starts runs that can be stopped."""
    with stoppable_runs(root, tmp_path_factory.mktemp("stoppable")) as started:
        yield started


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a run: a temporary folder of its own, and a name by which its processes are known."""
    (tmp_path / "tmp").mkdir()
    known = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    return {**known, "TMPDIR": str(tmp_path / "tmp"), "STOPPED_RUN": str(tmp_path)}


@pytest.fixture(scope="module")
def undisturbed(harness: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float]]:
    """Trace hash and reward of every episode of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    done = harness(*arguments(folder, CHUNKED))
    assert done.returncode == 0, done.stderr
    return results(folder)


def arguments(folder: Path, episodes: int) -> list[object]:
    """A run of the oracle in process, one episode after the other."""
    run = ["run", TASK, "--runtime", "inprocess", "--agent", "oracle", "--set", "payload_bytes=16", "--workers", "1"]
    return [*run, "--seeds", f"0-{episodes - 1}", "--out", folder]


def results(folder: Path) -> dict[str, tuple[str, float]]:
    """Trace hash and reward of the finished episodes by name; every one is whole, and has a grade."""
    told = {path.parent.name: json.loads(path.read_bytes()) for path in folder.glob("episodes/*/*/s*/result.json")}
    assert {one["status"] for one in told.values()} <= {"graded"}
    return {name: (one["trace_hash"], one["reward"]) for name, one in told.items()}


def kept(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """The files of finished episodes, with their times."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.glob("episodes/*/*/s*/*")}


def left(folder: Path, environ: Mapping[str, str]) -> list[str]:
    """What should not be there once a run was gone on with: half of something, temporary files, processes."""
    half = [str(path) for path in folder.rglob(".*")] + [str(path) for path in folder.rglob("attempts")]
    return half + [str(path) for path in Path(environ["TMPDIR"]).iterdir()] + processes(environ)


def processes(environ: Mapping[str, str]) -> list[str]:
    """The processes of a run."""
    named = f"STOPPED_RUN={environ['STOPPED_RUN']}".encode()
    alive = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if named in (entry / "environ").read_bytes().split(b"\0"):
                alive.append(entry.name)
        except OSError:
            continue
    return alive


def await_true(what: str, seen: Callable[[], Any]) -> None:
    """Return as soon as something is to be seen; fails when it never is."""
    until = time.monotonic() + LIMIT_S
    while not seen():
        assert time.monotonic() < until, f"never seen: {what}"
        time.sleep(0.005)


SAMPLE = {("plan", "hup"), ("open", "int"), ("agent", "kill"), ("finish", "int-twice"), ("judge", "term"), ("write", "kill")}
"""Of the matrix, what is tried each time; all of it belongs to `make proof`."""

MATRIX = [
    pytest.param(stage, named, marks=[] if (stage, named) in SAMPLE else pytest.mark.proof)
    for stage in (*STAGES, "chunk")
    for named in SIGNALS
]


@pytest.mark.parametrize(("stage", "named"), MATRIX)
def test_stopped_anywhere_a_run_goes_on(
    stage: str,
    named: str,
    runs: StoppableRuns,
    harness: Command,
    environ: dict[str, str],
    undisturbed: dict[str, tuple[str, float]],
    tmp_path: Path,
) -> None:
    """Stopped in its second episode, or in a process that plays many: what was finished stays, the rest is played."""
    folder, marker, episodes = tmp_path / "run", tmp_path / "marker", CHUNKED if stage == "chunk" else EPISODES
    run = arguments(folder, episodes)
    passed = {"plan": 0, "write": 9, "chunk": 3}.get(stage, 1)
    place = {"chunk": "agent"}.get(stage, stage)
    stopped = runs.start(run, environ, stage=place, after=passed, marker=marker)
    await_true(stage, marker.exists)
    sent, code = SIGNALS[named]
    for one in sent:
        os.kill(stopped.pid, one)
        time.sleep(0.05 * (len(sent) > 1))
    ended, seconds, said = stopped.ended()
    before, finished = kept(folder), len(results(folder))
    await_true("the end of its processes", lambda: not processes(environ))
    begun = (folder / "run.json").exists()
    again = harness(*(["run", "--resume", folder] if begun else run), env=environ)

    assert (ended, "Traceback" in said, seconds < LIMIT_S) == (code, False, True), said
    assert finished == (0 if stage in ("plan", "chunk") else 1)
    assert (named == "kill") or (f"--resume {folder}" in said) == begun
    assert again.returncode == 0, again.stderr
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    assert results(folder) == {name: undisturbed[name] for name in (f"s{seed}-a1" for seed in range(episodes))}
    assert len((folder / "rewards.jsonl").read_text(encoding="utf-8").splitlines()) == episodes
    assert left(folder, environ) == []


def test_killed_at_random_points_nothing_is_lost(
    runs: StoppableRuns, environ: dict[str, str], undisturbed: dict[str, tuple[str, float]], tmp_path: Path
) -> None:
    """Killed twenty times at file operations drawn at random, and gone on with each time, runs end like one that was not."""
    chance, killed, run = random.Random(16), 0, 0
    while killed < KILLS:
        folder, ended, before = tmp_path / f"run{run}", -9, {}
        while ended == -9:
            words = ["run", "--resume", folder] if (folder / "run.json").exists() else arguments(folder, 12)
            at = chance.randint(1, MOST_OPERATIONS) if killed < KILLS else 10**6
            ended, _, said = runs.start(words, environ, folder=folder, killed_at=at).ended()
            killed += ended == -9
            now = kept(folder)
            assert {path: now.get(path) for path in before} == before
            before = now
        assert ended == 0, said
        assert results(folder) == {name: undisturbed[name] for name in (f"s{seed}-a1" for seed in range(12))}
        assert len((folder / "rewards.jsonl").read_text(encoding="utf-8").splitlines()) == 12
        assert left(folder, environ) == []
        run += 1
