"""The folder of an export: lists that agree with the tasks, a card that hubs can read, and nothing written over."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli
import yaml

from harness.registry import discover, read_task
from parley.commands.authoring import REGISTRY
from parley.sharing import catalogue
from parley.sharing.bases import LocalBases
from parley.sharing.catalogue import write_harbor
from tests.shipped import RELEASED

NAMES = ["presigned-url-download", "uniform-01", "airliner-by-night"]
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def export(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of three tasks."""
    out = tmp_path_factory.mktemp("export") / "new"
    write_harbor(out, [task for task in discover(root / "tasks") if task.task_id in NAMES], LocalBases())
    return out


def test_the_registry_at_the_root_is_current(root: Path) -> None:
    """registry.json lists every task of the release by its path, all together and by family; after a change: make release."""
    tasks = RELEASED
    listed = {entry["name"]: entry["tasks"] for entry in json.loads(REGISTRY.read_text(encoding="utf-8"))}

    assert REGISTRY.read_text(encoding="utf-8") == catalogue.registry(
        tasks, lambda task: task.path.relative_to(root).as_posix()
    )
    assert [(root / one["path"] / "task.toml").is_file() for one in listed["parley"]] == [True] * len(tasks)
    assert len(listed["parley"]) == sum(len(own) for name, own in listed.items() if name != "parley")


def test_lists_agree_with_the_tasks(export: Path) -> None:
    """dataset.toml has each task and the metric with a digest, registry.json paths that exist, data/ a row a task."""
    manifest = tomli.loads((export / "dataset.toml").read_text(encoding="utf-8"))
    registry = json.loads((export / "registry.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for path in sorted((export / "data").iterdir()) for line in path.read_text().splitlines()]

    assert {task["name"] for task in manifest["tasks"]} == {f"parley/{name}" for name in NAMES}
    assert manifest["files"][0]["digest"].removeprefix("sha256:") == _sha256(export / "metric.py")
    assert [entry["name"] for entry in registry] == ["parley", "parley-calendar", "parley-contract", "parley-hidden-profile"]
    assert {(export / task["path"] / "task.toml").is_file() for entry in registry for task in entry["tasks"]} == {True}
    assert {row["digest"] for row in rows} == {task["digest"] for task in manifest["tasks"]}


def test_a_digest_is_that_of_a_task_s_own_files(root: Path) -> None:
    """A byte more in a file that is packaged changes it; caches, and files beside the known ones, do not count."""
    files = dict(LocalBases().files(read_task(root / "tasks" / "contract" / NAMES[0])))
    digest = catalogue.packaged_digest(files)
    some = files["instruction.md"]

    assert digest == catalogue.packaged_digest({**files, "notes.txt": some, "tests/__pycache__/a.pyc": some})
    assert digest != catalogue.packaged_digest({**files, "tests/more.txt": some})
    assert digest != catalogue.packaged_digest({**files, "instruction.md": some._replace(data=some.data + b" ")})


def test_the_card_names_what_is_there(export: Path) -> None:
    """Its head is YAML with a configuration for each family, whose file exists, and eval.yaml names those."""
    _, head, text = (export / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    configs = {one["config_name"]: one["data_files"][0] for one in yaml.safe_load(head)["configs"]}
    evaluation = yaml.safe_load((export / "eval.yaml").read_text(encoding="utf-8"))

    assert evaluation["evaluation_framework"] == "harbor"
    assert [(one["config"], one["split"]) for one in evaluation["tasks"]] == [(c, one["split"]) for c, one in configs.items()]
    assert [name for name, one in configs.items() if not (export / one["path"]).is_file()] == []
    assert "harbor" in yaml.safe_load(head)["tags"]
    assert "make images" in text
    assert "://" not in text


@pytest.mark.property
def test_untrusted_folder_runs_no_code_when_exported(harness: Command, root: Path, tmp_path: Path) -> None:
    """A folder from elsewhere may hold traps in every file: export and release read them, or refuse by name, and run none."""
    tasks, ran = tmp_path / "tasks", tmp_path / "ran"
    folder = Path(shutil.copytree(root / "tasks" / "contract" / NAMES[0], tasks / NAMES[0]))
    for file in folder.rglob("*.py"):
        file.write_text(f"open({str(ran)!r}, 'w')\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    plain = harness("--tasks", tasks, "export", "harbor", tmp_path / "plain", "--standalone")
    pinned = harness("--tasks", tasks, "release", "--check")
    (folder / "environment" / "api" / "notes.md").write_text(f"sk-{'a1' * 20}", encoding="utf-8")
    keyed = harness("--tasks", tasks, "export", "harbor", tmp_path / "keyed", "--standalone")
    (folder / "environment" / "api" / "passwd").symlink_to("/etc/passwd")
    linked = harness("--tasks", tasks, "export", "harbor", tmp_path / "linked", "--standalone")

    assert not ran.exists()
    assert plain.returncode in {0, 2}, plain.stderr
    assert (pinned.returncode, "lies outside" in pinned.stderr or "not as" in pinned.stderr) in {(1, True), (2, True)}
    assert (keyed.returncode, "notes.md contains what looks like an API key" in keyed.stderr) == (2, True), keyed.stderr
    assert linked.returncode in {2, 4}
    assert "is a link to '/etc/passwd'" in linked.stderr
    assert "Traceback" not in "".join(one.stderr for one in (plain, pinned, keyed, linked))


def test_nothing_is_written_over(harness: Command, export: Path) -> None:
    """A folder that holds something stays as it is, and the error says what to name instead."""
    before = _sha256(export / "registry.json")
    done = harness("export", "harbor", export, NAMES[0])

    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert before == _sha256(export / "registry.json")


def test_flags_that_exclude_each_other(harness: Command, tmp_path: Path) -> None:
    """One kind of base at a time, and a plain base for --standalone alone."""
    both = harness("export", "harbor", tmp_path / "a", "--standalone", "--images", "x/agent@sha256:0")
    base = harness("export", "harbor", tmp_path / "a", "--base", "debian:12")

    assert (both.returncode, base.returncode) == (2, 2)
    assert "exclude each other" in both.stderr
    assert "--standalone --base IMAGE" in base.stderr
    assert not (tmp_path / "a").exists()


def test_references_from_a_file(harness: Command, tmp_path: Path) -> None:
    """What `harness images --push` printed is read from a file; a file that is not there is named."""
    lines = [f"registry.example/parley/{room}@sha256:{'ab' * 32}\n" for room in ("agent", "world", "verifier")]
    (tmp_path / "images.txt").write_text("".join(lines))

    done = harness("export", "harbor", tmp_path / "out", NAMES[0], "--images", tmp_path / "images.txt")
    missing = harness("export", "harbor", tmp_path / "other", NAMES[0], "--images", tmp_path / "none.txt")

    assert done.returncode == 0, done.stderr
    assert lines[0].strip() in (tmp_path / "out" / "tasks" / NAMES[0] / "task.toml").read_text()
    assert missing.returncode == 2
    assert "is neither a reference nor a file of references" in missing.stderr


def test_a_command_line_says_what_it_wrote(harness: Command, tmp_path: Path) -> None:
    """How many tasks, where, on what, and the next command."""
    done = harness("export", "harbor", tmp_path / "out", *NAMES, "--standalone", "--base", "debian:12")

    assert done.returncode == 0, done.stderr
    assert "3 tasks in" in done.stderr
    assert "they build on debian:12 alone" in done.stderr
    assert "next: harbor run -p" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.md", "data", "dataset.toml", "eval.yaml", "metric.py", "registry.json", "tasks",
    ]  # fmt: skip


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
