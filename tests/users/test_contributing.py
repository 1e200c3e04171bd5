"""CONTRIBUTING.md by the letter: a new folder in a checkout of its own verifies, plays and passes the tests, listed nowhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.paths import ROOT

pytestmark = pytest.mark.property

Typed = Callable[..., subprocess.CompletedProcess[str]]
MAIN = "import sys; from harness.cli import main; main()"
LISTING = ("tests/tasks/contract/test_blind.py", "tests/tasks/contract/test_golden.py", "tests/parley/sharing/test_folder.py",
           "tests/parley/sharing/test_release.py", "tests/harness/runs/test_planned.py")  # fmt: skip
"""Modules of tests that compare all tasks with something that is kept beside them."""

SOLVE = 'def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:\n    """'


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with one new contract task, as `harness new` writes it."""
    folder = tmp_path_factory.mktemp("work") / "clone"
    left_out = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
    beside = {"runs", "build", "dist"}
    shutil.copytree(
        ROOT, folder, ignore=lambda place, names: left_out(place, names) | (beside if Path(place) == ROOT else set())
    )
    done = run_in(folder, "new", "contract", "my-task")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def typed(clone: Path) -> Typed:
    """What is typed in that checkout, on a machine that has neither Docker nor bubblewrap."""
    return lambda *words: run_in(clone, *words)


def run_in(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of the harness of this checkout."""
    return python(folder, "-c", MAIN, *map(str, words))


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """This Python there, with its code first; `bwrap` and an engine are out of reach."""
    nowhere = {"PATH": str(Path(sys.executable).parent), "DOCKER_HOST": "unix:///nowhere", "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, **nowhere}, capture_output=True, text=True, check=False
    )


def test_a_new_task_verifies_and_plays(typed: Typed, tmp_path: Path) -> None:
    """On a machine without any sandbox too, and with the runtime named or not."""
    proved = typed("verify", "my-task", "--seeds", "0-1")
    played = [
        typed("run", "my-task", *where, "--out", tmp_path / f"run-{len(where)}") for where in ((), ("--runtime", "inprocess"))
    ]

    assert proved.returncode == 0, proved.stdout + proved.stderr
    assert [one.returncode for one in played] == [0, 0], played[0].stderr + played[1].stderr
    assert ["1 of 1 succeeded" in one.stderr for one in played] == [True, True]
    assert "runtime: inprocess" in played[0].stderr


def test_nothing_lists_it(clone: Path) -> None:
    """The tests that hold all tasks against a list, a golden file or a release pass with a folder more."""
    done = python(clone, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not property", *LISTING)

    assert done.returncode == 0, done.stdout[-3000:]


def test_a_solution_that_raises_says_so(typed: Typed, clone: Path, tmp_path: Path) -> None:
    """In what `run` prints, and with its line in the proof, which fails; the traceback is in agent.log."""
    broken = clone / "tasks" / "contract" / "my-crash"
    assert typed("new", "contract", "my-crash").returncode == 0
    text = (broken / "solution" / "solve.py").read_text(encoding="utf-8")
    assert SOLVE in text
    (broken / "solution" / "solve.py").write_text(
        text.replace(SOLVE, SOLVE.replace('"""', 'raise RuntimeError("boom")\n    """'))
    )
    line = text.partition(SOLVE)[0].count("\n") + 2

    played, proved = typed("run", "my-crash", "--out", tmp_path / "run"), typed("verify", "my-crash", "--seeds", "0")
    log = (tmp_path / "run" / "episodes" / "contract" / "my-crash" / "s0-a1" / "agent.log").read_text(encoding="utf-8")
    shutil.rmtree(broken)

    assert "stopped: the agent's program failed: RuntimeError: boom" in played.stderr
    assert f'solve.py", line {line}, in solve' in log
    assert proved.returncode == 4
    assert "the client raised RuntimeError: boom" in proved.stdout


def test_violations_that_cannot_be_imported_are_named(typed: Typed, clone: Path, tmp_path: Path) -> None:
    """By the line of the import, in `run` and in the proof."""
    broken = clone / "tasks" / "contract" / "my-import"
    assert typed("new", "contract", "my-import").returncode == 0
    path = broken / "solution" / "violations.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("from solve import", "import no_such_module\nfrom solve import", 1), encoding="utf-8")
    line = text.partition("from solve import")[0].count("\n") + 1

    played, proved = typed("run", "my-import", "--out", tmp_path / "run"), typed("verify", "my-import", "--seeds", "0")
    shutil.rmtree(broken)

    why = f"solution/violations.py:{line}: ModuleNotFoundError: No module named 'no_such_module'"
    assert f"stopped: the agent's program failed: {path}:{line}: ModuleNotFoundError" in played.stderr
    assert proved.returncode == 4
    assert why.partition(": ")[0] in proved.stdout
