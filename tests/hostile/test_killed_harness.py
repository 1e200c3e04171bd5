"""A harness that is interrupted or killed at any stage leaves nothing that the next start does not find and finish.

The harness is a real child process. Stages are told by what there is to see on this host - a container, a folder, a process
with a number of its own - and never by waiting.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.orphans import OWNER_LABEL
from harness.pod import EpisodeSpec, Runtime
from harness.registry import Task, read_task
from harness.runtimes.bubblewrap.folders import folders_root
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from worlds.core.events import read_log
from worlds.core.wire import request

STAGE_LIMIT_S = 60.0
END_LIMIT_S = 15.0
SIGNALS: dict[str, tuple[signal.Signals, ...]] = {
    "int": (signal.SIGINT,),
    "int-twice": (signal.SIGINT, signal.SIGINT),
    "term": (signal.SIGTERM,),
    "hup": (signal.SIGHUP,),
    "kill": (signal.SIGKILL,),
}


def number() -> str:
    """Seconds to sleep that no other process on this host sleeps."""
    return f"30.{secrets.randbelow(10**9):09d}"


def sleeping(seconds: str) -> list[int]:
    """The processes that sleep just so long."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes().endswith(f"sleep\0{seconds}\0".encode()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wake(seconds: str) -> None:
    """End what sleeps so long, and return when it has ended."""
    for pid in sleeping(seconds):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await_true("the end of a command", lambda: not sleeping(seconds))


def await_true(what: str, seen: Callable[[], Any], limit_s: float = STAGE_LIMIT_S) -> None:
    """Return as soon as something is to be seen; fails when it never is."""
    until = time.monotonic() + limit_s
    while not seen():
        assert time.monotonic() < until, f"never seen: {what}"
        time.sleep(0.01)


@dataclass
class Run:
    """One `harness run` in a process of its own."""

    folder: Path
    arguments: Sequence[str]
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        # a suite that was started in the background ignores SIGINT, under nohup SIGHUP too, and so would its children
        command = ["env", "--default-signal=INT,HUP", sys.executable, "-m", "harness", *self.arguments]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, start_new_session=True, env=environ, **pipes)

    def signal(self, signals: Sequence[signal.Signals]) -> tuple[int, float, str]:
        """Send the signals and wait for the end: exit code, seconds, and what was said."""
        began = time.monotonic()
        for sent in signals:
            if self.process.poll() is None:
                self.process.send_signal(sent)
                time.sleep(0.1)
        return self.end(END_LIMIT_S, began)

    def end(self, limit_s: float = STAGE_LIMIT_S, began: float | None = None) -> tuple[int, float, str]:
        """Wait for the end."""
        began = time.monotonic() if began is None else began
        try:
            said = self.process.communicate(timeout=limit_s)[0]
        finally:
            self.process.kill()
        return self.process.returncode, time.monotonic() - began, said

    def results(self) -> dict[str, dict[str, Any]]:
        """Every finished episode, each a whole record, by folder name."""
        found = {path.parent.name: json.loads(path.read_bytes()) for path in self.folder.glob("episodes/*/*/s*/result.json")}
        return {name: found[name] for name in sorted(found)}

    def half_written(self) -> list[str]:
        """Temporary names, and episodes without a result."""
        partial = [path for path in self.folder.rglob("*") if path.name.startswith(".") or path.name.endswith(".partial")]
        bare = [path for path in self.folder.glob("episodes/*/*/s*") if not (path / "result.json").is_file()]
        return [str(path.relative_to(self.folder)) for path in (*partial, *bare)]


Start = Callable[..., Run]


@pytest.fixture
def start(runtime: Runtime, task: Task, run_id: str, tmp_path: Path) -> Iterator[Start]:
    """Starts runs of a list of actions; what still runs at the end of a test is killed, and swept like after any crash."""
    runs: list[Run] = []

    def begin(actions: Sequence[dict[str, Any]], *more: str, name: str = "", played: Task = task, resume: bool = False) -> Run:
        folder = tmp_path / f"{run_id}{name}"
        script = tmp_path / f"script{name}.json"
        script.write_text(json.dumps(list(actions)), encoding="utf-8")
        place = ["--resume" if resume else "--out", str(folder)]
        named = ["--tasks", str(played.path.parents[1]), "run", played.task_id, "--runtime", runtime.name]
        agent = ["--agent", "scripted", "--script", str(script)]
        runs.append(Run(folder, [*named, *agent, *place, *more]))
        return runs[-1]

    yield begin
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()
    runtime.sweep()


@pytest.fixture(scope="module")
def late(task: Task, runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Task, str]]:
    """For each signal the same task with hidden tests that take their time, and how long."""
    made = {}
    for name in SIGNALS:
        seconds = number()
        folder = shutil.copytree(task.path, tmp_path_factory.mktemp("late") / "contract" / task.path.name)
        script = folder / "tests/test.sh"
        script.write_text(script.read_text(encoding="utf-8") + f"/usr/bin/sleep {seconds}\n", encoding="utf-8")
        made[name] = (read_task(folder), seconds)
    runtime.prepare([task for task, _ in made.values()])
    return made


def awake(seconds: str) -> list[dict[str, Any]]:
    """Actions that ask, spend real time, and ask again."""
    return [{"request": {"target": "/task"}}, {"run": f"exec /usr/bin/sleep {seconds}"}, {"request": {"target": "/clock"}}]


def owned(runtime: Runtime, traces: Any, pid: int) -> list[str]:
    """What a process has made so far: its containers, or its folders."""
    if traces.engine is None:
        owners = {path.parent.name: path.read_text(encoding="utf-8") for path in folders_root().glob("pod-*/owner")}
        return [name for name, owner in owners.items() if owner.split(":")[1] == str(pid)]
    things = traces.engine.labelled(OWNER_LABEL)["containers"]
    return [thing["Id"] for thing in things if thing["Labels"][OWNER_LABEL].split(":")[-2] == str(pid)]


@pytest.fixture
def reach(runtime: Runtime, traces: Any, start: Start, late: dict[str, tuple[Task, str]]) -> Callable[[str, str], Run]:
    """Starts a run and returns when it has come to a stage."""

    def created(run: Run) -> bool:
        return bool(traces.labelled(run.folder.name) if traces.engine else owned(runtime, traces, run.process.pid))

    def reached(stage: str, name: str) -> Run:
        seconds = number()
        if stage == "verifier":
            run = start([], name=name, played=late[name][0])
            await_true(stage, lambda: sleeping(late[name][1]))
            return run
        run = start(awake(seconds), name=name)
        if stage == "probe":
            await_true(stage, lambda: owned(runtime, traces, run.process.pid))
        elif stage == "open":
            await_true(stage, lambda: (run.folder / "run.json").exists() and created(run))
        else:
            await_true("agent", lambda: sleeping(seconds))
        if stage == "finish":
            wake(seconds)
        return run

    return reached


def anonymous(traces: Any, run_id: str) -> list[str]:
    """The volumes without a label that containers of a run hold right now."""
    if traces.engine is None:
        return []
    held = traces.engine.api.containers(all=True, filters={"label": f"parley.run={run_id}"})
    return [mount["Name"] for container in held for mount in container["Mounts"] if mount["Type"] == "volume"]


SAMPLE = {
    "probe": ("term",),
    "open": ("int", "kill"),
    "agent": ("hup", "int-twice"),
    "finish": ("kill",),
    "verifier": ("int", "term"),
}
"""What is tried each time; every signal at every stage belongs to `make proof`."""

CODES = {"int": 130, "int-twice": 130, "term": 143, "hup": 129, "kill": -signal.SIGKILL}


@pytest.mark.parametrize(
    ("stage", "names"),
    [
        *(pytest.param(stage, names, id=stage) for stage, names in SAMPLE.items()),
        *(pytest.param(stage, tuple(SIGNALS), id=f"{stage}-all", marks=pytest.mark.proof) for stage in SAMPLE),
    ],
)
def test_stopped_at_any_stage_leaves_nothing(
    stage: str, names: Sequence[str], runtime: Runtime, traces: Any, reach: Callable[[str, str], Run]
) -> None:
    """Four runs at once, each stopped its own way: exit 130 or 143, records whole or absent, a sweep takes the rest."""
    volumes: set[str] = set()

    def stop(name: str) -> tuple[Run, int, float, str]:
        run = reach(stage, name)
        volumes.update(anonymous(traces, run.folder.name))
        return run, *run.signal(SIGNALS[name])

    with ThreadPoolExecutor(len(names)) as pool:
        ended = dict(zip(names, pool.map(stop, names), strict=True))
    runtime.sweep()

    codes = {name: code for name, (_, code, _, _) in ended.items()}
    assert codes == {name: CODES[name] for name in names}
    for run, _, seconds, said in ended.values():
        assert "Traceback" not in said
        assert seconds < END_LIMIT_S
        assert run.half_written() == []
        assert all(result["status"] == "graded" for result in run.results().values())
    assert traces.left() == {}
    if traces.engine is not None:
        known = {volume["Name"] for volume in traces.engine.api.volumes().get("Volumes") or []}
        assert not known & volumes


def test_resume_finishes_what_was_begun(task: Task, start: Start) -> None:
    """Interrupted in its second of three episodes, and killed there when resumed, a run ends like one that never was."""
    seconds, plan = number(), ["--seeds", "0-2", "--workers", "1"]
    nap = [*awake(seconds)[:2], {"submit": "not the file"}]
    run = start(nap, *plan)

    def let_go(episodes: int) -> None:
        """Wait for an episode's command and end it, so often."""
        for _ in range(episodes):
            await_true("a command", lambda: sleeping(seconds))
            wake(seconds)

    let_go(1)
    await_true("the second episode", lambda: run.results() and sleeping(seconds))
    run.signal((signal.SIGINT,))
    wake(seconds)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.folder.glob("episodes/*/*/s*/*")}
    assert list(run.results()) == ["s0-a1"]

    again = start(nap, *plan, resume=True)
    await_true("the second episode again", lambda: sleeping(seconds))
    again.signal((signal.SIGKILL,))
    wake(seconds)
    last = start(nap, *plan, resume=True)
    let_go(2)
    code, _, said = last.end()

    assert code == 0, said
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    assert {name: result["trace_hash"] for name, result in last.results().items()} == {
        f"s{seed}-a1": alone(task, seed) for seed in range(3)
    }
    assert {(r["status"], r["failure_label"]) for r in last.results().values()} == {("graded", "WRONG_VALUE")}
    assert len((run.folder / "rewards.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    assert last.half_written() == []


def alone(task: Task, seed: int) -> str:
    """The trace hash of the same requests in a run that nobody disturbed."""
    with InProcessRuntime().open(EpisodeSpec("alone", "e", task, seed)) as pod:
        pod.call(request("GET", "/task"))
        pod.call(request("POST", "/submission", body="not the file"))
        return read_log(pod.finish())[-1].hash


def test_a_live_run_survives_everybody_elses_end(runtime: Runtime, traces: Any, start: Start, harness: Any) -> None:
    """While one run plays, another is killed, `harness clean` removes what it left, a third starts: the first ends as ever."""
    slow, other = number(), number()
    first = start([*awake(slow)[:2], {"submit": "not the file"}], name="-a")
    await_true("the first run", lambda: sleeping(slow))
    second = start(awake(other), name="-b")
    await_true("the second run", lambda: sleeping(other))
    second.signal((signal.SIGKILL,))

    cleaned = harness("clean", "--yes", "--json")
    third = start([{"request": {"target": "/task"}}], name="-c")
    code, _, said = third.end()

    assert code == 0, said
    assert cleaned.returncode == 0
    assert traces.labelled(second.folder.name) == []
    assert sleeping(other) == []
    assert len(sleeping(slow)) == 1
    wake(slow)
    assert first.end()[0] == 0
    (result,) = first.results().values()
    assert (result["status"], result["cause"], result["reward"], result["failure_label"]) == (
        "graded",
        None,
        0.0,
        "WRONG_VALUE",
    )
    assert result["trace_hash"] == alone(admitted(read_task(Path(first.arguments[1]) / "contract" / result["task_id"])), 0)


def test_next_run_sweeps_what_a_killed_one_left(runtime: Runtime, traces: Any, start: Start) -> None:
    """Without anybody typing `clean`: the next run names and removes containers, volumes, folders and half-written records."""
    seconds = number()
    killed = start(awake(seconds), name="-killed")
    await_true("the command", lambda: sleeping(seconds))
    killed.signal((signal.SIGKILL,))
    wake(seconds)
    left = traces.labelled() + traces.folders()
    partial = killed.folder / "episodes/contract" / killed.arguments[3] / f".s0-a1.{killed.process.pid}.partial"
    partial.mkdir(parents=True)

    resumed = start(awake(seconds), name="-killed", resume=True)
    await_true("the command again", lambda: sleeping(seconds))
    wake(seconds)
    code, _, said = resumed.end()

    assert code == 0, said
    # Who else starts a run on this engine sweeps it too; the folders are this session's own.
    assert not set(left) & {*traces.labelled(), *traces.folders()}
    assert len(left) >= 1 if traces.engine is None else not traces.folders()
    assert all(name in said for name in left if name.startswith("pod-"))
    assert resumed.half_written() == []
    assert sorted(resumed.results()) == ["s0-a1"]
