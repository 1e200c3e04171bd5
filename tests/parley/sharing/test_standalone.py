"""A standalone export needs nothing of ours but what it carries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import TaskInvalid, UsageError
from harness.registry import Task, read_task
from harness.safe_read import Content
from parley.sharing.bases import Files, StandaloneBases
from parley.sharing.catalogue import write_harbor

TASKS = ["contract/presigned-url-download", "calendar/varied-prior-01", "hidden-profile/airliner-by-night"]
CONTEXTS = {"environment/Dockerfile": "environment", "environment/world/Dockerfile": "environment", "tests/Dockerfile": "tests"}

JUDGE = """
import sys
from pathlib import Path
import pytest, validators, validators.plugin as plugin, worlds
tests, log, out = map(Path, sys.argv[1:])
carried = tests.parent / "verifier"
assert {Path(package.__path__[0]).parent for package in (validators, worlds)} == {carried}
plugin.LOG, plugin.OUT = log, out
out.mkdir()
sys.exit(pytest.main(["-q", "-p", "validators.plugin", "-p", "no:cacheprovider", f"--rootdir={tests.parent}", str(tests)]))
"""


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest, root: Path) -> Task:
    """A task of each family."""
    return read_task(root / "tasks" / request.param)


@pytest.fixture
def files(task: Task) -> Files:
    """Its standalone copy."""
    return StandaloneBases("some/base:1").files(task)


def test_no_image_of_ours_is_needed(files: Files) -> None:
    """Every recipe builds on the plain base, and neither compose file nor task.toml names an image."""
    recipes = {name: content.data.decode() for name, content in files.items() if name.endswith("Dockerfile")}
    others = files["environment/docker-compose.yaml"].data + files["task.toml"].data

    assert set(recipes) == set(CONTEXTS)
    assert {re.findall(r"(?m)^FROM (.+)$", text)[0] for text in recipes.values()} == {"some/base:1"}
    assert b"parley/agent" not in others
    assert b"parley/world" not in others
    assert b"image" not in others


def test_what_a_recipe_copies_is_carried(files: Files) -> None:
    """Each source of each COPY lies in the context that the recipe is built with."""
    for recipe, context in CONTEXTS.items():
        copied = re.findall(r"(?m)^COPY (.+) \S+$", files[recipe].data.decode())
        sources = [source for line in copied for source in line.split()]

        assert sources
        assert [s for s in sources if not _lies_in(files, f"{context}/{s}")] == []


def test_a_task_is_otherwise_as_it_was(task: Task, files: Files) -> None:
    """Instruction, world, hidden tests and oracle are the same bytes, and scripts can still be run."""
    changed = {"task.toml", "environment/docker-compose.yaml", "tests/Dockerfile"}
    given = {path.relative_to(task.path).as_posix(): path for path in task.path.rglob("*") if path.is_file()}
    same = {name: path for name, path in given.items() if name not in changed and "__pycache__" not in name}

    assert {name: path.read_bytes() for name, path in same.items()} == {name: files[name].data for name in same}
    assert files["tests/test.sh"].executable
    assert files["solution/solve.sh"].executable


def test_other_families_and_addresses_stay_out(task: Task, files: Files) -> None:
    """A task carries its own family and the shared part; requirements have hashes and name no host."""
    family = task.family.replace("-", "_")
    carried = {name.split("/")[3] for name in files if name.startswith("tests/verifier/worlds/")}
    requirements = [content.data.decode() for name, content in files.items() if name.endswith("/requirements.txt")]

    assert carried == {"__init__.py", "core", family}
    assert len(requirements) == 3
    assert [text for text in requirements if "://" in text or "--hash=sha256:" not in text or "index" in text] == []


@pytest.mark.property
def test_the_carried_validators_judge(task: Task, files: Files, tmp_path: Path, harness: Callable[..., object]) -> None:
    """What a task carries for its verifier reaches the oracle's verdict over the oracle's log, without the checkout."""
    harness(
        "run", str(task.path), "--agent", "oracle", "--runtime", "inprocess", "--seeds", "0", "--out", str(tmp_path / "run")
    )
    log = next(tmp_path.rglob("events.jsonl"))
    for name, content in files.items():
        if name.startswith("tests/"):
            _write(tmp_path / name, content)

    done = _judged(tmp_path, log)

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "logs" / "reward.json").read_text()) == {"reward": 1.0}


def test_a_dockerfile_of_its_own_is_refused(task: Task, tmp_path: Path) -> None:
    """A task with a recipe that --standalone does not know is named, with the file."""
    folder = tmp_path / task.task_id
    for path in (path for path in task.path.rglob("*") if path.is_file()):
        _write(folder / path.relative_to(task.path), Content(path.read_bytes(), executable=False))
    (folder / "environment" / "Dockerfile").write_text("FROM parley/agent:1\nRUN true\n")

    with pytest.raises(TaskInvalid, match="environment/Dockerfile:1: --standalone does not support a Dockerfile"):
        StandaloneBases().files(read_task(folder))


def test_without_recipes_it_says_so(tmp_path: Path) -> None:
    """An installed package has no docker/ beside it."""
    with pytest.raises(UsageError, match="which are missing"):
        StandaloneBases(root=tmp_path)


def test_trainers_find_the_tasks(root: Path, tmp_path: Path) -> None:
    """The pattern by which TRL looks for tasks, `tasks/*/task.toml`, matches every exported task."""
    tasks = [read_task(root / "tasks" / name) for name in TASKS]

    write_harbor(tmp_path / "out", tasks, StandaloneBases())

    assert {path.parent.name for path in (tmp_path / "out" / "tasks").glob("*/task.toml")} == {task.task_id for task in tasks}


def _lies_in(files: Files, source: str) -> bool:
    return source in files or any(name.startswith(f"{source}/") for name in files)


def _write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.data)
    path.chmod(0o755 if content.executable else 0o644)


def _judged(folder: Path, log: Path) -> subprocess.CompletedProcess[str]:
    """The hidden tests over a log, by the validators and worlds that the folder carries and no others."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder / "tests" / "verifier"), "PYTHONDONTWRITEBYTECODE": "1"}
    where = [str(folder / "tests" / "test_outcome.py"), str(log), str(folder / "logs")]
    return subprocess.run(
        [sys.executable, "-c", JUDGE, *where], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
