"""Writes the folder that others take: flat tasks, and the lists, card and metric beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from harness.errors import UsageError
from harness.registry import Task
from harness.secrets import refuse_secrets
from harness.sharing import catalogue
from harness.sharing.bases import Bases, Files
from harness.writing import make_folder, write_file, writing

_HERE = Path(__file__).parent
_UNFILLED = re.compile(rb"^TASKS: int \| None = None$", re.MULTILINE)


def write_harbor(out: Path, tasks: Sequence[Task], bases: Bases) -> int:
    """Write tasks and lists into a new or empty folder; how many bytes they have.

    Raises UsageError for a folder that holds something or a task that is not ours, TaskInvalid for one that cannot be exported.
    """
    if foreign := [task.task_id for task in tasks if task.parley is None or task.file.task is None]:
        raise UsageError(f"{foreign[0]} is not a task of Parley's own, and an export holds those alone", hint="harness list")
    with writing(out):
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"{out} is not empty, and nothing in it is written over", hint="harness export harbor NEW_FOLDER")
        make_folder(out)
    digests: dict[str, str] = {}
    size = 0
    for task in tasks:
        files = bases.files(task)
        digests[catalogue.full_name(task)] = catalogue.packaged_digest(files)
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
    """Every file beside the tasks."""
    metric = _UNFILLED.sub(b"TASKS: int | None = %d" % len(tasks), (_HERE / "metric.py").read_bytes())
    texts = {
        "registry.json": catalogue.registry(tasks, lambda task: f"tasks/{task.task_id}"),
        "dataset.toml": catalogue.dataset(digests, metric),
        "eval.yaml": catalogue.evaluation(tasks),
        "README.md": _card(tasks, bases),
    }
    for family, own in catalogue.by_family(tasks).items():
        texts[f"data/{family}.jsonl"] = catalogue.rows(own, digests)
    return {"metric.py": metric, **{name: text.encode() for name, text in texts.items()}}


def _card(tasks: Sequence[Task], bases: Bases) -> str:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701 - Markdown
    families = [
        {"name": family, "count": len(own), "about": catalogue.about(family)}
        for family, own in catalogue.by_family(tasks).items()
    ]
    template = environment.from_string((_HERE / "card.md.j2").read_text(encoding="utf-8"))
    return template.render(
        families=families, split=catalogue.SPLIT, description=catalogue.DESCRIPTION, version=catalogue.VERSION,
        total=len(tasks), needed=bases.needed, told=bases.told, example=tasks[0].task_id,
    ).rstrip("\n") + "\n"  # fmt: skip
