"""The lists that runners and hubs read beside the tasks: registry.json, dataset.toml, eval.yaml, a JSON line for each task.

Harbor knows a task by a digest over the digests of its files; `packaged_digest` computes it as Harbor's packager does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence

from harness.modules import family_part_or_none
from harness.registry import Task
from harness.sharing.bases import Files

NAME, VERSION = "parley", "1.0.0"
"""Of the dataset. The version rises when what a task asks or how it is judged changes; digests tell all else apart."""

DESCRIPTION = "Containerized tasks that measure whether AI agents can be trusted with delegated work"

SPLIT = "test"

_PACKAGED = re.compile(r"(task\.toml|instruction\.md|README\.md|trajectory\.json|(environment|tests|solution|steps)/.+)")
_LEFT_OUT = re.compile(r"(.*/)?(__pycache__/.*|.*\.pyc|\.DS_Store|.*\.sw[po]|.*~)")


def registry(tasks: Sequence[Task], path_of: Callable[[Task], str]) -> str:
    """registry.json: one dataset of all tasks, and one of each family, with the path of each task from the file."""
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
    """dataset.toml: each task's full name with its digest, and the digest of metric.py."""
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
    """eval.yaml: one evaluation a family, each with the configuration of the card that lists its tasks."""
    lines = [f"name: {NAME.capitalize()}", f"description: {DESCRIPTION}", "evaluation_framework: harbor", "tasks:"]
    for family in by_family(tasks):
        lines += [f"  - id: {family}", f"    config: {family}", f"    split: {SPLIT}"]
    return "\n".join(lines) + "\n"


def rows(tasks: Sequence[Task], digests: Mapping[str, str]) -> str:
    """One JSON object a task: what a table of a hub shows."""
    return "".join(json.dumps(_row(task, digests[full_name(task)]), ensure_ascii=False) + "\n" for task in tasks)


def by_family(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """The tasks of each family, families sorted."""
    return {family: [task for task in tasks if task.family == family] for family in sorted({task.family for task in tasks})}


def about(family: str) -> str:
    """What a family measures, in a line; its name where it does not say."""
    part = family_part_or_none(family, "about")
    return str(part.LINE) if part else family


def full_name(task: Task) -> str:
    """The name with its organization, as task.toml has it."""
    return task.file.task.name if task.file.task else task.task_id


def packaged_digest(files: Files) -> str:
    """The digest by which Harbor knows a task that has these files."""
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
