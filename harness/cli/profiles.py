"""Hidden-profile tasks on the command line: a model makes them (`generate hidden-profile`), or a file has them (`import`)."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.authoring.hidden_profile.drafts import TRACKS, examples
from harness.authoring.hidden_profile.folders import write_task
from harness.authoring.hidden_profile.generation import DIFFICULTY, Order, Team, generate
from harness.authoring.hidden_profile.hiddenbench import MODES, Imported, flags, guesses, read_tasks, seal
from harness.authoring.hidden_profile.ledger import FILE, Record
from harness.cli.console import emit, say, show_table
from harness.errors import GateFailed, UsageError
from harness.registry import tasks_root

EXAMPLE = "harness generate hidden-profile --model gpt-5 --candidates 200 --out generated/hidden-profile"
GENERATED, IMPORTED = Path("generated/hidden-profile"), Path("imported/hidden-profile")
TEMPERATURE = 1.0
"""Of the model that writes: asked again, it should say something else. The judge plays as in any run."""


@dataclass(frozen=True)
class Models:
    """The models of a generation, as typed."""

    writer: str | None
    judge: str | None
    """None: the writer judges too, as published."""

    api_base: str | None


def generate_profiles(models: Models, order: Order, tasks: Path | None, out: Path | None, *, json: bool) -> None:
    """Make the candidates that are missing in `out`, and sum up; raises UsageError, and GateFailed where none would do."""
    if models.writer is None:
        raise UsageError("somebody must write the tasks: name a model", hint=EXAMPLE)
    if order.track not in TRACKS:
        raise UsageError(f"--format must be one of {', '.join(TRACKS)}, not {order.track!r}", hint=EXAMPLE)
    team = Team(
        ModelClient(ModelSettings(models.writer, api_base=models.api_base, temperature=TEMPERATURE)),
        ModelClient(ModelSettings(models.judge or models.writer, api_base=models.api_base)),
        examples(tasks_root(tasks) / "hidden-profile"),
    )
    for client in (team.writer, team.judge):
        client.check()
    folder = out or GENERATED
    made = generate(order, team, folder, lambda record: say(_line(record, order.candidates)))
    _sum_up(made, folder, json=json)
    if not made["passed"]:
        raise GateFailed(f"none of {made['generated']} candidates would do; {folder / FILE} says why")


def import_hiddenbench(file: Path, out: Path | None, ids: Sequence[str], *, replace: bool, json: bool) -> None:
    """Read every entry, then write; nothing is written from a file with a broken entry."""
    tasks = read_tasks(file)
    chosen = [task for task in tasks if not ids or _matches(task, ids)]
    if not chosen:
        raise UsageError(f"none of the {len(tasks)} tasks of {file} is called {' or '.join(ids)}; e.g. {tasks[0].name}")
    folder = out or IMPORTED
    paths = [write_task(folder, task.name, task.scenario, DIFFICULTY, replace=replace) for task in chosen]
    sealed = seal(folder, chosen)
    rows = [
        {"task_id": task.name, "published_id": task.published_id, "options": len(task.scenario.options)}
        | guesses(task.scenario)
        for task in chosen
    ]
    if json:
        told = [{**row, "certified": False, "path": str(path)} for row, path in zip(rows, paths, strict=True)]
        emit({"tasks": told, "sealed": sealed and str(sealed), "modes": MODES})
        return
    _show_guesses(rows)
    say(f"{len(chosen)} tasks in {folder}, uncertified: prose proves nothing")
    if sealed:
        say(f"rationales, which state the answers, are in {sealed} and in no task folder")
    for mode in MODES:
        say(f"  {mode}: harness --tasks {folder.parent} run hidden-profile --model MODEL --seeds 0-9 {flags(mode)}")


def _show_guesses(rows: Sequence[dict[str, Any]]) -> None:
    """What each task is worth to who only looks at the text, and the means beside blind guessing."""
    columns = [column for column in rows[0] if column != "published_id"]
    guessers = columns[2:]
    means = {name: sum(row[name] for row in rows) / len(rows) for name in guessers}
    chance = sum(1 / row["options"] for row in rows) / len(rows)
    table = [[row["task_id"], row["options"], *(f"{row[name]:.2f}" for name in guessers)] for row in rows]
    table.append([f"mean (blind: {chance:.2f})", "", *(f"{means[name]:.2f}" for name in guessers)])
    show_table(columns, table)


def _line(record: Record, candidates: int) -> str:
    """One candidate in a line."""
    why = "; ".join(f"{name}: {reason}" for name, reason in record.reasons.items())
    what = f"{record.name} passed" if record.stage == "passed" else f"rejected, {why[:200]}"
    return f"candidate {record.number} of {candidates}: {what}"


def _sum_up(made: dict[str, Any], folder: Path, *, json: bool) -> None:
    if json:
        emit(made)
        return
    rejected = [[f"rejected by {name}", number] for name, number in made["rejected"].items()]
    dollars = "no known price" if made["dollars"] is None else f"{made['dollars']:.2f}"
    rows = [
        ["generated", made["generated"]], ["malformed", made["malformed"]], *rejected, ["passed", made["passed"]],
        ["rate", f"{made['rate']:.1%}"], ["calls", made["calls"]], ["dollars", dollars],
    ]  # fmt: skip
    show_table(["what", "number"], rows)
    say(f"{made['passed']} tasks in {folder}; all candidates, with reasons: {folder / FILE}")


def _matches(task: Imported, patterns: Sequence[str]) -> bool:
    names = (task.name, task.published_name, str(task.published_id))
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)
