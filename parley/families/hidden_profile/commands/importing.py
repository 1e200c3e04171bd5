"""`harness import hiddenbench FILE.json`: published hidden profiles as task folders, uncertified, with sealed rationales.

Nothing is written from a file with a broken entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cli.tasks import Json
from harness.errors import quoted
from harness.output import emit, say
from harness.tables import show_table
from parley.commands.sources import File, Ids, Out, Replace, chosen
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.authoring.generation import DIFFICULTY
from parley.families.hidden_profile.authoring.hiddenbench import PRESETS, read_tasks, seal

IMPORTED = Path("imported/hidden-profile")


def import_hiddenbench(file: File, out: Out = None, ids: Ids = None, replace: Replace = False, json: Json = False) -> None:
    """Import hidden profiles from a file with one JSON array."""
    folder = out or IMPORTED
    tasks = chosen(read_tasks(file), lambda task: (task.name, task.published_name, str(task.published_id)), ids, file)
    paths = [write_task(folder, task.name, task.scenario, DIFFICULTY, replace=replace) for task in tasks]
    sealed = seal(folder, tasks)
    rows = [
        {"task_id": task.name, "published_id": task.published_id, "options": len(task.scenario.options), **task.guesses}
        for task in tasks
    ]
    if json:
        told = [{**row, "certified": False, "path": str(path)} for row, path in zip(rows, paths, strict=True)]
        emit({"tasks": told, "sealed": sealed and str(sealed), "presets": PRESETS})
        return
    _show_guesses(rows)
    say(f"{len(tasks)} tasks in {folder}, uncertified, because nothing can be proved about prose")
    if sealed:
        say(f"the rationales state the answers, so they are in {sealed} and not in the task folders")
    for how, preset in PRESETS.items():
        say(f"  {how}: harness --tasks {quoted(folder.parent)} run --preset {preset} --no-control --model MODEL")


def _show_guesses(rows: Sequence[dict[str, Any]]) -> None:
    """Print the accuracy of each text-only guesser on each task, and their means beside that of blind guessing."""
    columns = [column for column in rows[0] if column != "published_id"]
    guessers = columns[2:]
    means = {name: sum(row[name] for row in rows) / len(rows) for name in guessers}
    chance = sum(1 / row["options"] for row in rows) / len(rows)
    table = [[row["task_id"], row["options"], *(f"{row[name]:.2f}" for name in guessers)] for row in rows]
    table.append([f"mean (blind: {chance:.2f})", "", *(f"{means[name]:.2f}" for name in guessers)])
    show_table(columns, table)


KINDS = {"hiddenbench": import_hiddenbench}
