"""What continuous integration reads, from tables and from git, it reads rightly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from harness.paths import ROOT
from harness.registry import discover


@pytest.mark.property
def test_ci_proves_every_family_on_its_routine_seeds() -> None:
    """The loop over families takes names and seeds out of the table that `harness list --families` prints."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    loop = script[script.index("families=$(") : script.index('done <<<"$families"')] + 'done <<<"$families"\n'
    told = loop.replace(".venv/bin/harness verify", "echo").replace(".venv/bin/harness", f"{sys.executable} -m harness")

    said = subprocess.run(["bash", "-euc", told], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout

    proved = {words[0]: words[words.index("--seeds") + 1] for words in map(str.split, said.splitlines())}
    assert proved == {"calendar": "0-9", "contract": "0-9", "hidden-profile": "0-1"}
    assert set(proved) == {task.family for task in discover(ROOT / "tasks")}


@pytest.mark.property
@pytest.mark.parametrize(("last", "told"), [("true", "last"), ("false", "last: FAILED")])
def test_ci_ends_with_the_seconds_of_each_stage(last: str, told: str) -> None:
    """The table stands at the end of a build that is green, and of one that a stage ended."""
    stages = (ROOT / ".ci" / "machine").read_text(encoding="utf-8").partition("install() {")[0]
    script = f"set -euo pipefail\n{stages}\nstep first, slow\nsleep 1.1\nstep last\n{last}\n"

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)

    table = done.stdout.partition("=== seconds of each stage\n")[2]
    assert re.findall(r"^ +\d+  (.*)$", table, re.MULTILINE) == ["first, slow", told, "total"]
    assert table.lstrip()[0] != "0"
    assert done.returncode == (last == "false")


def test_a_pull_request_has_the_task_folders_proved_that_it_touches(tmp_path: Path) -> None:
    """Changed and new folders are named, those that are gone and what is no task are not, and without any nothing is done."""
    script = (ROOT / ".ci" / "tasks").read_text(encoding="utf-8").partition("source .ci/machine")[0]
    place = tmp_path / ".ci" / "tasks"
    place.parent.mkdir()
    place.write_text(script, encoding="utf-8")
    for name in ("contract/old", "contract/changed", "calendar/same"):
        _file(tmp_path / "tasks" / name / "task.toml", "a")
    _git(tmp_path, "init", "-q", "-b", "main")
    _commit(tmp_path)
    assert "no task folder differs from main" in _told(place, "main")

    _git(tmp_path, "switch", "-q", "-c", "change")
    (tmp_path / "tasks/contract/old/task.toml").unlink()
    _file(tmp_path / "tasks/contract/changed/solution/solve.py", "b")
    _file(tmp_path / "tasks/hidden-profile/added/task.toml", "c")
    _file(tmp_path / "tasks/README.md", "d")
    _commit(tmp_path)

    assert _told(place, "main").splitlines() == ["proving changed added"]


def test_hosted_ci_runs_what_everybody_runs() -> None:
    """The workflow has no steps of its own to get out of date: it calls `.ci/run`, `.ci/tasks` and make."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    last = {name: job["steps"][-1]["run"] for name, job in jobs.items()}

    assert last == {
        "all": ".ci/run",
        "tasks": '.ci/tasks "origin/$GITHUB_BASE_REF"',
        "integrations": "make ${{ matrix.harness }}-test",
    }
    assert all((ROOT / name).stat().st_mode & 0o111 for name in (".ci/run", ".ci/tasks", ".ci/release"))
    (release,) = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"].values()
    assert release["steps"][-1]["run"].startswith('.ci/release "$GITHUB_REF_NAME" ')
    assert sorted(jobs["integrations"]["strategy"]["matrix"]["harness"]) == sorted(
        path.name for path in (ROOT / "integrations").iterdir()
    )


def _told(script: Path, base: str) -> str:
    return subprocess.run(["bash", script, base], capture_output=True, text=True, timeout=60, check=True).stdout


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _commit(folder: Path) -> None:
    _git(folder, "add", "-A")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a")


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, timeout=60)
