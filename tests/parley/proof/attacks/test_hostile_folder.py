"""The traps of attack 17: each copy is what it is called, and what is not refused is told."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import tomli

from harness.registry import Task, read_task
from harness.runtimes.inprocess import InProcessRuntime
from parley.proof.attacks import folder as attack
from parley.proof.attacks.folder import ABSURD, FIFOS, LINKED_FILES, LINKED_FOLDERS, mark_copy, traps, type_command, unrefused
from parley.proof.attacks.target import Target, watched

NAME = "presigned-url-download"


@pytest.fixture
def copy(tmp_path: Path, root: Path) -> Path:
    """A copy of a folder of ours, beside a folder with a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("a secret", encoding="utf-8")
    return shutil.copytree(root / "tasks/contract" / NAME, tmp_path / NAME, ignore=shutil.ignore_patterns("__pycache__"))


def sprung(copy: Path, what: str) -> Path:
    """The copy with one trap."""
    with watched() as host:
        springs = dict(traps(Target(read_task(copy), InProcessRuntime(), host)))
    springs[what](copy, copy.parent / "outside")
    return copy


@pytest.mark.parametrize("path", LINKED_FILES)
def test_a_link_leads_to_the_secret(path: str, copy: Path) -> None:
    """A file of the folder is one of the host."""
    assert (sprung(copy, f"{path}, a link to a file outside") / path).read_text(encoding="utf-8") == "a secret"


@pytest.mark.parametrize("path", LINKED_FOLDERS)
def test_a_linked_folder_leads_outside(path: str, copy: Path) -> None:
    """A folder of the folder is one of the host."""
    assert (sprung(copy, f"{path}, a link to a folder outside") / path / "secret").is_file()


@pytest.mark.parametrize("path", FIFOS)
def test_a_fifo_is_one(path: str, copy: Path) -> None:
    """Whoever opens it waits for ever."""
    assert (sprung(copy, f"{path}, a FIFO") / path).is_fifo()


@pytest.mark.parametrize(("section", "line"), [(section, line) for section, lines in ABSURD.items() for line in lines])
def test_an_absurd_number_is_all_that_changed(section: str, line: str, copy: Path) -> None:
    """task.toml is still TOML, with that number in that section and everything else as it was."""
    before = tomli.loads((copy / "task.toml").read_text(encoding="utf-8"))
    key = line.partition(" ")[0]

    after = tomli.loads((sprung(copy, f"[{section}] {line}") / "task.toml").read_text(encoding="utf-8"))

    assert str(after[section].pop(key)) == str(tomli.loads(line)[key])
    before[section].pop(key, None)
    assert after == before


def test_another_family_is_written(copy: Path) -> None:
    """The name stands where the harness looks for it."""
    data = tomli.loads((sprung(copy, "the family ../../x") / "task.toml").read_text(encoding="utf-8"))

    assert data["metadata"]["parley"]["family"] == "../../x"


def test_another_artifact_is_written(copy: Path) -> None:
    """The path stands where the harness looks for it."""
    data = tomli.loads((sprung(copy, "an artifact from ../x") / "task.toml").read_text(encoding="utf-8"))

    assert data["artifacts"] == ["../x"]


class Careless(InProcessRuntime):
    """A runtime that refuses nothing, so that what is taken for a task shows."""

    def refuses(self, task: Task) -> str | None:
        """Nothing."""
        return None


def test_what_is_taken_for_a_task_is_told(copy: Path) -> None:
    """An honest copy is not refused; one that is no TOML is, in one line."""
    assert unrefused(copy, Careless()) == "is taken for a task"
    (copy / "task.toml").write_text("{", encoding="utf-8")
    assert unrefused(copy, Careless()) is None


def test_whoever_reads_for_ever_or_raises_is_told(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a runtime that hangs nor one that breaks takes the suite with it."""
    let_go = threading.Event()

    class Hanging(Careless):
        def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
            let_go.wait()
            return {}

    class Broken(Careless):
        def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
            raise RecursionError("too deep")

    monkeypatch.setattr(attack, "READING_S", 0.2)
    assert "still being read" in str(unrefused(copy, Hanging()))
    let_go.set()
    monkeypatch.setattr(attack, "READING_S", 30)
    assert unrefused(copy, Broken()) == "ends in RecursionError: too deep"


@pytest.mark.property
def test_a_mark_shows_what_ran_here(copy: Path, tmp_path: Path) -> None:
    """With --trust the world, the solution and the tests of a copy run on this host, and leave their marks."""
    marked, mark = tmp_path / "marked" / NAME, tmp_path / "mark"
    mark_copy(copy, marked, mark)
    run = ("run", "{copy}", "--agent", "oracle", "--runtime", "inprocess", "--seeds", "0", "--out", "{out}")

    refused = type_command(run, marked, tmp_path / "one")
    assert not mark.exists(), refused
    said = type_command((*run, "--trust"), marked, tmp_path / "two")

    assert set(mark.read_text(encoding="utf-8").split()) >= {
        *("environment/api/server.py", "solution/solve.py", "tests/test_outcome.py")
    }, said
