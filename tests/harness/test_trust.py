"""Whose code may run in this process: a place decides, or a typed flag; and whoever forgets to ask is refused."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import paths, trust
from harness.agent import Budget, Report
from harness.agents.solutions import SolutionAgent, players, violation_names
from harness.errors import UsageError
from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.registry import Task, discover, read_task, tasks_root
from harness.runtimes.inprocess import InProcessPod, InProcessRuntime
from harness.runtimes.judging import judge_all, judge_in_process, judge_together
from parley.families.contract.authoring.mutations import matrix
from parley.proof.findings import handler_place
from parley.proof.lint import lint_task
from parley.proof.plays import play
from parley.proof.sync import drift, sync
from parley.proof.workers import WorkerPool

NAME = "contract/presigned-url-download"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of tasks that is called as ours is, with one task of ours in it."""
    shutil.copytree(ROOT / "tasks" / NAME, tmp_path / "tasks" / NAME)
    return tmp_path / "tasks"


@pytest.fixture
def other(outside: Path) -> Task:
    """That task."""
    return read_task(outside / NAME)


def test_ours_is_a_place(outside: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not what was found upwards, nor what PARLEY_TASKS or a flag names; and our own place by whatever path it is reached."""
    monkeypatch.chdir(tmp_path)
    link = tmp_path / "elsewhere"
    link.symlink_to(ROOT / "tasks")

    assert [trust.runs_here(task) for task in discover(tasks_root())] == [False]
    assert [trust.runs_here(task) for task in discover(tasks_root(outside))] == [False]
    monkeypatch.setenv("PARLEY_TASKS", str(outside))
    assert [trust.runs_here(task) for task in discover(tasks_root())] == [False]
    assert trust.is_ours(link / NAME)
    assert not trust.is_ours(ROOT / "tasks" / ".." / "docs")
    assert not trust.is_ours(ROOT / "tasks")


def test_a_link_in_our_tasks_is_not_ours(outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a link in our own tasks leads to is where it is."""
    checkout = tmp_path / "checkout"
    (checkout / "tasks" / "contract").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    (checkout / "tasks" / NAME).symlink_to(outside / NAME)
    (checkout / "tasks" / "contract" / "own").mkdir()
    monkeypatch.setattr(paths, "PACKAGE", checkout / "harness")

    assert trust.is_ours(checkout / "tasks" / "contract" / "own")
    assert not trust.is_ours(checkout / "tasks" / NAME)


def test_installed_package_has_its_own_tasks_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside an installed package lie other people's packages, one of which may be called `tasks`."""
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "site-packages" / "harness")

    assert trust.own_roots() == (tmp_path.resolve() / "site-packages" / "harness" / "tasks",)


def _judged(task: Task) -> object:
    return judge_in_process(task, [b""])


SPEC = EpisodeSpec("r", "e", read_task(ROOT / "tasks" / NAME), 0)
LOWEST: dict[str, Callable[[Task], object]] = {
    "world": lambda task: InProcessPod(EpisodeSpec("r", "e", task, 0)),
    "clients": players,
    "tests": _judged,
    "tests, together": lambda task: judge_together(task, b""),
    "tests of many": lambda task: judge_all([(task, b"")]),
    "play": lambda task: play(task, "solve", 0),
    "nop": lambda task: play(task, "nop", 0),
    "lint": lint_task,
    "handler": lambda task: handler_place(task, "GET", "/"),
    "mutations": lambda task: matrix([task]),
    "drift": lambda task: drift(task.path),
    "sync": lambda task: sync(task.path),
}


@pytest.mark.parametrize("way", LOWEST)
def test_whoever_forgot_to_ask_is_refused(other: Task, way: str) -> None:
    """Every place that imports code of a folder asks for itself."""
    with pytest.raises(UsageError, match="is not a built-in task, so its code does not run in this process"):
        LOWEST[way](other)


def test_a_client_by_call_is_refused(other: Task) -> None:
    """Also where a pod without `main` is open, an agent does not import what it may not."""
    with InProcessRuntime().open(SPEC) as pod, pytest.raises(UsageError, match="does not run in this process"):
        SolutionAgent().play(other, 0, pod, Budget(), Report("x"))


@pytest.mark.property
def test_the_mark_goes_along(other: Task) -> None:
    """A task that was vouched for is so in another process too; one that was not is refused there."""
    vouched = trust.admitted(other)

    assert trust.runs_here(pickle.loads(pickle.dumps(vouched)))
    with WorkerPool(2) as pool:
        assert list(pool.run([("x", (abs, (-1,)), (trust.require, (vouched,)))])) == [("x", 1, None)]
    with WorkerPool(2) as pool, pytest.raises(UsageError, match="does not run in this process"):
        list(pool.run([("x", (abs, (-1,)), (trust.require, (other,)))]))


def test_gate_tells_whose_code_runs_where(other: Task) -> None:
    """One line for what is kept away, one for what was let in, none for ours."""
    ours = SPEC.task

    assert trust.gate([ours], trust=False).told("docker") == []
    assert trust.gate([ours], trust=True).told("docker") == []
    assert trust.gate([ours, other], trust=False).told("docker") == [
        f"code of the task in {other.path} is not part of Parley, so it runs in docker; --trust runs it in this process"
    ]
    assert trust.gate([other], trust=True).told("inprocess") == [
        f"code of the task in {other.path} is not part of Parley, and may run in this process: --trust"
    ]


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "FOLDER", "--runtime", "inprocess"),
        ("--tasks", "TASKS", "run", "presigned-url-download", "--runtime", "inprocess"),
        ("run", "FOLDER", "--runtime", "bubblewrap", "--mutate", "clip=200"),
        ("run", "FOLDER", "--runtime", "docker", "--handles"),
        ("run", "FOLDER", "--mitigate", "backoff", "--agent", "violation:decoded_link"),
        ("verify", "FOLDER", "--mutations"),
    ],
    ids=" ".join,
)
def test_commands_that_would_run_it_here_refuse(
    harness: Command, outside: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Exit 2 before anything starts, with the reason and a flag to type; `--trust` is that flag."""
    named = [{"FOLDER": str(outside / NAME), "TASKS": str(outside)}.get(word, word) for word in words]
    more = [] if "verify" in words else ["--out", str(tmp_path / "run")]
    done = harness(*named, *more, env={"PARLEY_TASKS": str(outside)})

    assert done.returncode == 2
    assert f"{outside / NAME}" in done.stderr
    assert "is not a built-in task" in done.stderr
    assert "--trust" in done.stderr.partition("try: ")[2]
    assert not (tmp_path / "run").exists()


def test_trust_runs_it_here(harness: Command, outside: Path, tmp_path: Path) -> None:
    """Typed, the flag lets the code in, and the command says so."""
    done = harness("run", outside / NAME, "--runtime", "inprocess", "--trust", "--out", tmp_path / "run")

    assert done.returncode == 0
    assert "may run in this process: --trust" in done.stderr
    assert "1 of 1 succeeded" in done.stderr


@pytest.mark.property
@pytest.mark.parametrize(("command", "code"), [("run", 2), ("verify", 3), ("sync", 3)])
def test_without_any_sandbox_nothing_runs(outside: Path, tmp_path: Path, command: str, code: int) -> None:
    """Where neither Docker nor bubblewrap works, the command says why of both, and names --trust."""
    environ = {"PATH": str(tmp_path), "DOCKER_HOST": "unix:///nowhere", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "harness", command, str(outside / NAME)], cwd=tmp_path, env=environ, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == code
    assert "docker: no Docker engine answers" in done.stderr
    assert "bubblewrap: bubblewrap is not installed" in done.stderr
    assert "--trust" in done.stderr.partition("try: ")[2]
    assert not (tmp_path / "runs").exists()


def test_sync_writes_through_no_link(other: Task, tmp_path: Path) -> None:
    """A folder whose files are links to files elsewhere gets nothing written there."""
    target = tmp_path / "precious"
    target.write_text("precious")
    for relative in ("solution/solve.sh", "tests"):
        victim = shutil.copytree(other.path, tmp_path / relative.replace("/", "-") / other.task_id)
        inner = victim / relative
        shutil.rmtree(inner) if inner.is_dir() else inner.unlink()
        inner.symlink_to(target if relative != "tests" else tmp_path)

        with pytest.raises(Exception, match="is a link, and sync writes only inside the folder"):
            sync(victim)

    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "solution-solve.sh", "tasks", "tests"]


def test_names_are_read_from_a_text_that_no_parser_takes(other: Task) -> None:
    """The names of wrong clients are found by tokens: a text nested too deeply for a syntax tree hides none of them."""
    path = other.path / "solution" / "violations.py"
    text = 'X = f"{1}", [{"no": 1}, {"VIOLATIONS": {"no": 2}}]\nVIOLATIONS = {\n "late": ("A", {"inner": 1}), "early": 2}\n'
    path.write_text(f"{text}Y = {'-' * 100_000}1\n", encoding="utf-8")

    assert violation_names(other) == ["late", "early"]
