"""A new task folder verifies at once, and sync writes what differs and nothing else."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import TaskInvalid, UnknownTask, UsageError
from harness.registry import read_task
from harness.trust import admitted
from parley.proof.findings import ProofReport, handler_place
from parley.proof.plays import play
from parley.proof.sync import drift, new_task, spread_json, sync, task_folders, vouched
from parley.proof.templates import families


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and mode."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777) for path in files}


LONG = {"hidden-profile": pytest.mark.property}
"""Families whose tasks take seconds to prove."""


@pytest.mark.parametrize("family", [pytest.param(family, marks=LONG.get(family, ())) for family in families()])
def test_new_task_verifies_at_once(family: str, tmp_path: Path, prove: Callable[[Path], ProofReport]) -> None:
    """Every family's skeleton passes every check as it stands."""
    report = prove(new_task(tmp_path, family, "a-task"))

    assert [str(finding) for finding in report.findings()] == []
    assert report.ok


@pytest.mark.property
def test_new_fastapi_task_verifies_at_once(fresh_app: Path, prove: Callable[[Path], ProofReport]) -> None:
    """So does the one whose rules are path operations."""
    report = prove(fresh_app)

    assert [str(finding) for finding in report.findings()] == []
    assert report.ok


def test_style_changes_the_server_alone(fresh: Path, fresh_app: Path) -> None:
    """Both styles are one task: same texts, clients and validator, and the same traces."""
    plain, app = contents(fresh), contents(fresh_app)
    traces = [{player: play(admitted(read_task(path)), player, 0).trace_hash for player in ("solve", "late_ticket")}
              for path in (fresh, fresh_app)]  # fmt: skip

    assert {name for name in plain if plain[name] != app[name]} == {"environment/api/server.py"}
    assert plain.keys() == app.keys()
    assert traces[0] == traces[1]


def test_docs_show_the_template(fresh_app: Path, root: Path) -> None:
    """The code in docs/fastapi-worlds.md is the template's, docstrings left out."""
    shown = (root / "docs/fastapi-worlds.md").read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0]
    written = (fresh_app / "environment/api/server.py").read_text(encoding="utf-8")

    assert set(bare(shown)) < set(bare(written))


def bare(source: str) -> list[str]:
    """The statements of a module without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return [ast.unparse(node) for node in tree.body]


def test_new_refuses_a_style_that_a_family_lacks(tmp_path: Path) -> None:
    """A family without files for a style says so, and nothing is written."""
    with pytest.raises(UsageError, match=r"^calendar has no template in the style 'fastapi'$"):
        new_task(tmp_path, "calendar", "a-task", "fastapi")

    assert list(tmp_path.iterdir()) == []


def test_findings_name_the_operation(fresh_app: Path) -> None:
    """What is wrong with an answer is said at the path operation that gave it."""
    task = admitted(read_task(fresh_app))
    lines = task.world_folder.joinpath("server.py").read_text(encoding="utf-8").splitlines()

    assert lines[handler_place(task, "GET", "/api/value").line - 1] == "def give_value("


@pytest.mark.parametrize("style", ["", "fastapi"])
def test_new_task_is_clean(style: str, tmp_path: Path, root: Path) -> None:
    """The skeleton and the boilerplate satisfy our own ruff rules where tasks live."""
    fresh = new_task(tmp_path, "contract", "my-task", style)
    rules = ["--config", str(root / "pyproject.toml"), "--ignore", "D401,INP001,ARG002,S101,F401", "--no-cache"]
    ruff = Path(sys.executable).with_name("ruff")
    checked = subprocess.run([ruff, "check", *rules, fresh], capture_output=True, text=True, check=False)
    formatted = subprocess.run(
        [ruff, "format", "--check", "--no-cache", *rules[:2], fresh], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, formatted.returncode) == (0, 0), checked.stdout + formatted.stdout


def test_new_task_server_is_short(fresh: Path, fresh_app: Path) -> None:
    """The first example an author sees fits on one screen."""
    assert max(len((path / "environment/api/server.py").read_text().splitlines()) for path in (fresh, fresh_app)) <= 60


@pytest.mark.parametrize("name", ["My-task", "my_task", "9-lives", "a--b", "-a", "a-", "", "../up", "a" * 32])
def test_new_refuses_bad_names(name: str, tmp_path: Path) -> None:
    """A name that Harbor would cut or a folder could not carry is refused, and nothing is written."""
    with pytest.raises(UsageError, match="a task's name"):
        new_task(tmp_path, "contract", name)

    assert list(tmp_path.iterdir()) == []


def test_new_refuses_a_taken_name(tmp_path: Path) -> None:
    """A folder that exists, in any family, is left alone."""
    (tmp_path / "calendar" / "my-task").mkdir(parents=True)

    with pytest.raises(UsageError, match="exists already"):
        new_task(tmp_path, "contract", "my-task")


def test_new_names_the_known_families(tmp_path: Path) -> None:
    """An unknown family is answered with those there are."""
    with pytest.raises(UsageError, match=r"unknown family 'chess'; known: .*contract"):
        new_task(tmp_path, "chess", "my-task")


def test_sync_is_idempotent(folder: Path) -> None:
    """A second sync changes no byte and no mode, and there is no drift."""
    before = contents(folder)

    assert (sync(folder, vouched), drift(folder, vouched)) == ([], [])
    assert before == contents(folder)


def test_sync_restores_what_was_lost(folder: Path) -> None:
    """Missing, edited and unexecutable files come back, and only they are written."""
    before = contents(folder)
    (folder / "instruction.md").unlink()
    (folder / "environment/api/world.json").write_text("{}")
    (folder / "solution/solve.sh").chmod(0o644)

    assert {"instruction.md", "environment/api/world.json", "solution/solve.sh"} == {
        path.relative_to(folder).as_posix() for path in sync(folder, vouched)
    }
    assert before == contents(folder)


def test_sync_follows_the_author(folder: Path) -> None:
    """A budget in task.toml reaches world.json, a sentence in the template reaches the instruction."""
    toml, template = folder / "task.toml", folder / "environment/api/instruction.md.j2"
    toml.write_text(toml.read_text().replace("steps = 10", "steps = 11"))
    template.write_text("Hello.\n\n" + template.read_text())

    changed = [path.relative_to(folder).as_posix() for path in sync(folder, vouched)]

    assert changed == ["environment/api/world.json", "instruction.md"]
    assert (folder / "instruction.md").read_text().startswith("Hello.")


def test_sync_needs_no_boilerplate(folder: Path) -> None:
    """A folder with the author's files alone is completed, though the registry refuses it before."""
    before = contents(folder)
    for name in ("instruction.md", "tests/test.sh", "environment/api/world.json"):
        (folder / name).unlink()
    with pytest.raises(TaskInvalid, match=r"lacks instruction\.md"):
        read_task(folder)

    sync(folder, vouched)

    assert before == contents(folder)
    assert read_task(folder).task_id == "my-task"


def test_sync_names_the_line_of_a_broken_world(folder: Path) -> None:
    """A world that raises while it is built is reported at the line that raised."""
    server = folder / "environment/api/server.py"
    server.write_text(server.read_text().replace('self.chance("value").hex(32)', "undefined_name"))

    with pytest.raises(TaskInvalid, match=r"server\.py:20: NameError: .*undefined_name"):
        sync(folder, vouched)


def test_task_folders_by_name(folder: Path) -> None:
    """Folders go by id, glob, family and path, and an unknown name is an error."""
    root = folder.parents[1]

    assert [folder] == task_folders(root) == task_folders(root, ["my-*"]) == task_folders(root, ["contract", str(folder)])
    with pytest.raises(UnknownTask, match="yours"):
        task_folders(root, ["yours"])


@pytest.mark.property
def test_play_speaks_one_line_when_a_client_raises(folder: Path) -> None:
    """The boilerplate player exits 1 with one line, whatever the client raised, and names the violations there are."""
    (folder / "solution/solve.py").write_text(
        'def solve(api, instruction, wait):\n    raise ValueError("two\\nlines")\n\n\nplay = solve\n'
    )

    (folder / "solution/instruction.md").write_text("Do nothing.")
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def play(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", str(folder / "solution/solve.sh"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=path)

    raised, unknown = play(), play("nobody")

    assert (raised.returncode, raised.stderr) == (1, "ValueError: two lines\n")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)
    assert "no violation is called 'nobody'; there are no_ticket" in unknown.stderr


def test_an_empty_document_keeps_its_lines() -> None:
    """The generated files of tasks are pinned by digests, so their layout never changes."""
    assert spread_json({}, ()) == b"{\n\n}\n"
    assert spread_json({"a": [], "b": {"c": 1}}, ("b",)) == b'{\n "a": [],\n "b": {\n  "c": 1\n }\n}\n'
