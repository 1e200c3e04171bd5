"""What would go wrong on a cluster is said before anything is played there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from two_nodes import ROOT, TwoNodes, harness

TASK = ("presigned-url-download", "--agent", "oracle")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Another checkout."""
    for name in ("harness", "parley", "worlds", "oracles", "validators", "tasks", "docker"):
        shutil.copytree(ROOT / name, tmp_path / "checkout" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "checkout")
    return tmp_path / "checkout"


@pytest.fixture
def other(cluster: TwoNodes, elsewhere: Path) -> Iterator[Path]:
    """The checkout that a third node plays."""
    node = cluster.add(PYTHONPATH=str(elsewhere))
    yield elsewhere
    cluster.kill(node)


def test_a_node_with_another_version_is_refused_by_name(cluster: TwoNodes, other: Path, tmp_path: Path) -> None:
    """Equal files are played wherever they lie; another file of the harness is refused, and so is another task."""
    words = (*TASK, "--runtime", "inprocess", "--seeds", "0-7", "--workers", 8)
    equal = cluster.run(*words, "--out", tmp_path / "equal")
    server = other / "tasks/contract/presigned-url-download/environment/api/server.py"
    server.write_text(server.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    task = cluster.run(*words, "--out", tmp_path / "task")
    rules = other / "worlds/core/clock.py"
    rules.write_text(rules.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    code = cluster.run(*words, "--out", tmp_path / "code")

    assert equal.returncode == 0, equal.stderr
    assert (task.returncode, "has another task presigned-url-download" in task.stderr) == (3, True), task.stderr
    assert (code.returncode, "runs another harness" in code.stderr) == (3, True), code.stderr
    assert not (tmp_path / "task").exists()
    assert cluster.processes() == {}


def test_what_no_node_can_play_is_refused_with_what_each_lacks(cluster: TwoNodes, elsewhere: Path, tmp_path: Path) -> None:
    """A task that wants more processors than any node has."""
    toml = elsewhere / "tasks/contract/presigned-url-download/task.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("cpus = 1", "cpus = 64"), encoding="utf-8")

    done = cluster.run(toml.parent, "--agent", "oracle", "--runtime", "bubblewrap", "--out", tmp_path / "run")

    assert done.returncode == 3
    assert done.stderr.count("has 2 CPU of 64 CPU") >= 2, done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--executor", "ray"), "--executor ray and --address must be used together"),
        (("--executor", "dask", "--address", "auto"), "executor must be here or ray"),
        (("--executor", "ray", "--address", "ray://127.0.0.1:1"), "is a Ray Client address"),
        (("--executor", "ray", "--address", "auto", "--runtime", "auto"), "nodes of a cluster need one runtime for all"),
        (("--executor", "ray", "--address", "auto", "--cache", "replies"), "--cache is a folder of this machine"),
    ],
)
def test_flags_that_mean_nothing_on_a_cluster_are_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """With the flag that is wrong."""
    runtime = () if "--runtime" in words else ("--runtime", "inprocess")

    done = harness("run", *TASK, *runtime, *words, "--out", tmp_path / "run")

    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_an_address_where_nobody_listens_is_refused(tmp_path: Path) -> None:
    """Ray itself would ask there for minutes, longer than a command may take here."""
    where = ("--executor", "ray", "--address", "127.0.0.1:1")

    done = harness("run", *TASK, "--runtime", "inprocess", *where, "--out", tmp_path / "run")

    assert "try: ray start --head" in done.stderr
    assert (done.returncode, "no Ray cluster at 127.0.0.1:1" in done.stderr, "refused" in done.stderr) == (3, True, True), (
        done.stderr
    )
