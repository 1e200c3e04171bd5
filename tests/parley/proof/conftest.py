"""A fresh task folder to break, and a short way to prove it on two seeds, in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.registry import read_task
from harness.trust import admitted
from parley.proof.findings import ProofReport
from parley.proof.proof import verify
from parley.proof.sync import new_task

Prove = Callable[[Path], ProofReport]


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `new` writes; not to be changed."""
    return new_task(tmp_path_factory.mktemp("fresh"), "contract", "my-task")


@pytest.fixture(scope="session")
def fresh_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `new --fastapi` writes; not to be changed."""
    return new_task(tmp_path_factory.mktemp("fresh-app"), "contract", "my-task", "fastapi")


@pytest.fixture
def folder(fresh: Path, tmp_path: Path) -> Path:
    """A copy of it, to be broken."""
    return Path(shutil.copytree(fresh, tmp_path / "contract" / "my-task", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture(scope="session")
def prove() -> Prove:
    """Proves one folder on seeds 0 and 1."""
    return lambda folder: verify([admitted(read_task(folder))], [0, 1], workers=1)


@pytest.fixture
def broken(folder: Path, prove: Prove) -> Callable[[str, str, str], list[tuple[str, int, str]]]:
    """Replaces a text in one file of the folder and returns the findings as (relative path, line, rule)."""

    def findings(name: str, old: str, new: str) -> list[tuple[str, int, str]]:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="")
        report = prove(folder)
        assert report.ok is (not list(report.findings()))
        return [(Path(found.path).relative_to(folder).as_posix(), found.line, found.rule) for found in report.findings()]

    return findings
