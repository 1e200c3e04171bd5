"""Other people's readers take an export: Harbor's registry client and packager, and the parser of verifiers.

Each has an environment and a lock of its own (`make readers`, Python 3.12): neither is a dependency of this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.registry import Task, discover
from parley.sharing.bases import LocalBases, PinnedBases, StandaloneBases, name_of_tests
from parley.sharing.catalogue import write_harbor
from tests.readers.asking import read_by

pytestmark = pytest.mark.readers

AT, DIGEST = "registry.example/parley", "sha256:" + "ab" * 32
REFERENCES = [f"{AT}/{room}@{DIGEST}" for room in ("agent", "world", "verifier", "tests")]


@pytest.fixture(scope="module")
def tasks(root: Path) -> list[Task]:
    """Every task there is."""
    return discover(root / "tasks")


def test_harbor_reads_every_task(tasks: list[Task], tmp_path: Path) -> None:
    """Its client lists all of them and each family, its model takes every folder, its packager makes our digests."""
    write_harbor(tmp_path / "out", tasks, LocalBases())

    told = read_by("harbor", tmp_path / "out")

    assert len(told["sets"]["parley"]) == len(tasks) >= 188
    assert {name: len(paths) for name, paths in told["sets"].items() if name != "parley"} == {
        f"parley-{family}": len([task for task in tasks if task.family == family]) for family in {task.family for task in tasks}
    }
    assert told["manifest"] == told["packaged"]
    assert told["files"] == {"metric.py": told["metric"]}


def test_harbor_counts_the_digests_of_standalone_tasks(tasks: list[Task], tmp_path: Path) -> None:
    """Three tasks of each family with all they carry."""
    write_harbor(tmp_path / "out", _some(tasks), StandaloneBases())

    told = read_by("harbor", tmp_path / "out")

    assert len(told["packaged"]) == 9
    assert told["manifest"] == told["packaged"]


def test_harbor_reads_the_registry_of_the_repository(root: Path, tasks: list[Task]) -> None:
    """registry.json at the root leads to every task folder."""
    told = read_by("harbor", root)

    assert [str(task.path.relative_to(root)) for task in tasks] == told["sets"]["parley"]


def test_verifiers_reads_every_pinned_task(tasks: list[Task], tmp_path: Path) -> None:
    """Each has an image to work on, another that judges it and holds its tests, and the world's log as what is judged."""
    write_harbor(tmp_path / "out", tasks, PinnedBases(REFERENCES))

    told = read_by("verifiers", tmp_path / "out")

    assert told["refused"] == {}
    assert set(told["read"]) == {task.task_id for task in tasks}
    for task in tasks:
        read = told["read"][task.task_id]
        assert (read["image"], read["verifier_image"]) == (REFERENCES[0], REFERENCES[3])
        assert read["verifier_env"] == {"PARLEY_TESTS": name_of_tests(task)}
        assert read["separate"]
        assert read["artifacts"] == ["api:/state/events.jsonl"]


def test_verifiers_reads_a_standalone_task_when_told_to(tasks: list[Task], tmp_path: Path) -> None:
    """It builds no verifier: refused as it comes, read with --ignore-dockerfile (test.sh then says that the box is wrong)."""
    write_harbor(tmp_path / "out", _some(tasks), StandaloneBases())

    plain, told = read_by("verifiers", tmp_path / "out"), read_by("verifiers", tmp_path / "out", "--ignore-dockerfile")

    assert len(plain["refused"]) == len(told["read"]) == 9
    assert all("needs a pullable docker_image" in why for why in plain["refused"].values())
    assert {read["image"] for read in told["read"].values()} == {None}


def _some(tasks: Sequence[Task]) -> list[Task]:
    """Three tasks of each family."""
    return [task for family in sorted({t.family for t in tasks}) for task in [t for t in tasks if t.family == family][:3]]
