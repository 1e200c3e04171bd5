"""Lists that runners and hubs read alongside the tasks: registry.json, dataset.toml, eval.yaml and JSON lines of tasks.

Harbor identifies a task by a digest over the digests of its files; `packaged_digest` computes it as Harbor's packager does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from harness.atomic_write import make_folder, write_file, writing
from harness.errors import UsageError
from harness.plugins import family_part_or_none
from harness.registry import Task
from parley.sharing.bases import Bases, Files
from parley.sharing.publishing import refuse_secrets

NAME, VERSION = "parley", "1.0.0"
"""Name and version of the dataset. The version rises when a task's prompt or judging changes; digests cover other changes."""

DESCRIPTION = "Containerized tasks that measure whether AI agents can be trusted with delegated work"

SPLIT = "test"

_PACKAGED = re.compile(r"(task\.toml|instruction\.md|README\.md|trajectory\.json|(environment|tests|solution|steps)/.+)")
_LEFT_OUT = re.compile(r"(.*/)?(__pycache__/.*|.*\.pyc|\.DS_Store|.*\.sw[po]|.*~)")


def registry(tasks: Sequence[Task], path_of: Callable[[Task], str]) -> str:
    """Return registry.json: a dataset of all tasks and one per family, with task paths relative to the file."""
    sets = {NAME: (DESCRIPTION, list(tasks))}
    for family, own in by_family(tasks).items():
        sets[f"{NAME}-{family}"] = (about(family), own)
    document = [
        {
            "name": name,
            "version": VERSION,
            "description": description,
            "tasks": [{"name": full_name(task), "path": path_of(task)} for task in chosen],
            "metrics": [],
        }
        for name, (description, chosen) in sets.items()
    ]
    return json.dumps(document, indent=1) + "\n"


def dataset(tasks: Mapping[str, str], metric: bytes) -> str:
    """Return dataset.toml: each task's full name with its digest, and the digest of metric.py."""
    lines = [
        "[dataset]",
        f'name = "{NAME}/{NAME}"',
        f'version = "{VERSION}"',
        f'description = "{DESCRIPTION}"',
        'keywords = ["agents", "trust", "multi-agent", "protocols"]',
    ]
    for name, digest in tasks.items():
        lines += ["", "[[tasks]]", f'name = "{name}"', f'digest = "sha256:{digest}"']
    lines += ["", "[[files]]", 'path = "metric.py"', f'digest = "sha256:{hashlib.sha256(metric).hexdigest()}"']
    return "\n".join(lines) + "\n"


def evaluation(tasks: Sequence[Task]) -> str:
    """Return eval.yaml: one evaluation per family, each with the card's configuration that lists its tasks."""
    lines = [f"name: {NAME.capitalize()}", f"description: {DESCRIPTION}", "evaluation_framework: harbor", "tasks:"]
    for family in by_family(tasks):
        lines += [f"  - id: {family}", f"    config: {family}", f"    split: {SPLIT}"]
    return "\n".join(lines) + "\n"


def rows(tasks: Sequence[Task], digests: Mapping[str, str]) -> str:
    """Return one JSON object per task, for the table that a hub shows."""
    return "".join(json.dumps(_row(task, digests[full_name(task)]), ensure_ascii=False) + "\n" for task in tasks)


def by_family(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """Return the tasks by family, with the families sorted."""
    return {family: [task for task in tasks if task.family == family] for family in sorted({task.family for task in tasks})}


def about(family: str) -> str:
    """Return one line on what a family measures, or the family's name if it has no such line."""
    part = family_part_or_none(family, "about")
    return str(part.LINE) if part else family


def full_name(task: Task) -> str:
    """Return the name with its organization, as in task.toml."""
    return task.file.task.name if task.file.task else task.task_id


def packaged_digest(files: Files) -> str:
    """Return Harbor's digest of a task with these files."""
    total = hashlib.sha256()
    for name in sorted(files):
        if _PACKAGED.fullmatch(name) and not _LEFT_OUT.fullmatch(name):
            total.update(f"{name}\0{hashlib.sha256(files[name].data).hexdigest()}\n".encode())
    return total.hexdigest()


def _row(task: Task, digest: str) -> dict[str, str | int | None]:
    ours, said = task.parley, task.file.task
    return {
        "id": task.task_id,
        "family": task.family,
        "description": said.description if said else "",
        "difficulty": ours.difficulty if ours else None,
        "pattern": ours.pattern if ours else None,
        "seats": ours.seats if ours else 1,
        "seeds": ours.seeds if ours else "0",
        "path": f"tasks/{task.task_id}",
        "digest": f"sha256:{digest}",
        "instruction": (task.path / "instruction.md").read_text(encoding="utf-8"),
    }


_HERE = Path(__file__).parent
_UNFILLED = re.compile(rb"^TASKS: int \| None = None$", re.MULTILINE)


def write_harbor(out: Path, tasks: Sequence[Task], bases: Bases) -> int:
    """Write tasks and lists into a new or empty folder and return their size in bytes.

    Raises UsageError for a folder that is not empty or a task from outside Parley, TaskInvalid for one that cannot be exported.
    """
    if foreign := [task.task_id for task in tasks if task.parley is None or task.file.task is None]:
        raise UsageError(f"{foreign[0]} is not one of Parley's own tasks, so it cannot be exported", hint="harness list")
    with writing(out):
        if out.exists() and any(out.iterdir()):
            raise UsageError(
                f"{out} is not empty, and existing files are never overwritten", hint="harness export harbor NEW_FOLDER"
            )
        make_folder(out)
    digests: dict[str, str] = {}
    size = 0
    for task in tasks:
        files = bases.files(task)
        digests[full_name(task)] = packaged_digest(files)
        for name, content in files.items():
            refuse_secrets(f"{task.path}/{name}", content.data)
        _write_task(out / "tasks" / task.task_id, files)
        size += sum(len(content.data) for content in files.values())
    beside = _beside(tasks, bases, digests)
    for name, data in beside.items():
        with writing(out / name):
            make_folder((out / name).parent)
            write_file(out / name, data)
    return size + sum(map(len, beside.values()))


def _write_task(folder: Path, files: Files) -> None:
    with writing(folder):
        for name, content in files.items():
            path = folder / name
            make_folder(path.parent)
            write_file(path, content.data)
            if content.executable:
                path.chmod(0o755)


def _beside(tasks: Sequence[Task], bases: Bases, digests: Mapping[str, str]) -> dict[str, bytes]:
    """Return every file that accompanies the tasks."""
    metric = _UNFILLED.sub(b"TASKS: int | None = %d" % len(tasks), (_HERE / "metric.py").read_bytes())
    texts = {
        "registry.json": registry(tasks, lambda task: f"tasks/{task.task_id}"),
        "dataset.toml": dataset(digests, metric),
        "eval.yaml": evaluation(tasks),
        "README.md": _card(tasks, bases),
    }
    for family, own in by_family(tasks).items():
        texts[f"data/{family}.jsonl"] = rows(own, digests)
    return {"metric.py": metric, **{name: text.encode() for name, text in texts.items()}}


def _card(tasks: Sequence[Task], bases: Bases) -> str:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701 - Markdown
    families = [{"name": family, "count": len(own), "about": about(family)} for family, own in by_family(tasks).items()]
    template = environment.from_string((_HERE / "card.md.j2").read_text(encoding="utf-8"))
    return template.render(
        families=families, split=SPLIT, description=DESCRIPTION, version=VERSION,
        total=len(tasks), needed=bases.needed, told=bases.told, example=tasks[0].task_id,
    ).rstrip("\n") + "\n"  # fmt: skip
