"""`harness show`: a task, or a recorded episode, or the list of a run's episodes."""

from __future__ import annotations

import json as jsons
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.listing import row
from harness.cli.progress import outcome
from harness.cli.tasks import Json, Trust, selected
from harness.errors import UsageError, quoted
from harness.output import emit, say
from harness.plugins import family_part
from harness.registry import Task
from harness.sanitize import printable
from harness.tables import show_table
from harness.trust import gate, require
from parley.reports.reading import episode_lines, is_episode, is_recorded, read_episode, read_result, recorded_episodes
from parley.reports.reading.text import NARROWEST, WIDEST, cut
from parley.rules import TABLE, stated_rules
from worlds.core.levels import LevelChanges
from worlds.core.loading import open_world


def show_command(
    ctx: typer.Context,
    name: Annotated[
        list[str],
        typer.Argument(help="Task id or path, folder of an episode, folder of a run, or RUN TASK [s0-a1].", metavar="NAME..."),
    ],
    matrix: bool = typer.Option(False, "--matrix", help="Show which seat knows which facts, and what each fact rules out."),
    full: bool = typer.Option(False, "--full", help="Print the texts of an episode in full."),
    seat: int | None = typer.Option(None, "--seat", min=0, help="Show only the messages to and from this seat of a game."),
    rules: bool = typer.Option(False, "--rules", help="Show the rules that a task states, and the clients that check each."),
    openapi: bool = typer.Option(False, "--openapi", help="Print the routes of a task's world as an OpenAPI document."),
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Show a task, a recorded episode, or the episodes of a run."""
    if is_recorded(name[0]) or len(name) > 1:
        if matrix or openapi or rules:
            told = "--matrix, --rules and --openapi need a task, not an episode"
            raise UsageError(told, hint=f"harness show {quoted(name[0])}")
        _show_recorded(name, full=full, seat=seat, json=json)
        return
    if full or seat is not None:
        raise UsageError(
            f"--full and --seat need a recorded episode, and {name[0]} is not one", hint=f"harness show {quoted(name[0])}"
        )
    (task, *_) = gate(selected(ctx, name), trust=trust).tasks
    if openapi:
        _show_openapi(task)
    elif matrix:
        _show_matrix(task, json=json)
    elif rules:
        _show_rules(task, json=json)
    elif json:
        emit({**row(task), "digest": task.digest, **_described(task)})
    else:
        _print(task)


def _show_recorded(words: Sequence[str], *, full: bool, seat: int | None, json: bool) -> None:
    folders = recorded_episodes(words)
    if len(folders) > 1 or (len(words) == 1 and not is_episode(Path(words[0]))):
        _list(folders, json=json)
        return
    episode = read_episode(folders[0])
    seats = {one.seat for one in episode.conversations}
    if seat is not None and seat not in seats:
        known = ", ".join(str(one) for one in sorted(one for one in seats if one is not None))
        raise UsageError(
            f"the episode has no seat {seat}; it has {known or 'no seats'}", hint=f"harness show {quoted(folders[0])}"
        )
    if json:
        _emit(episode.model_dump(mode="json"))
        return
    width = min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns))
    for line in episode_lines(episode, width, full=full, seat=seat):
        print(printable(line))


def _list(folders: Sequence[Path], *, json: bool) -> None:
    results, damage = [], []
    for folder in folders:
        try:
            results.append((folder, read_result(folder)))
        except UsageError as error:
            damage.append(error)
            say(printable(f"warning: {error}"))
    if not results:
        raise damage[-1]
    if json:
        _emit([{**result.model_dump(mode="json"), "path": str(folder)} for folder, result in results])
        return
    runs = len({result.run for _, result in results})
    rows = []
    for folder, result in results:
        words = (*([result.run] if runs > 1 else []), result.task_id, folder.name, result.agent, cut(outcome(result), 200))
        rows.append(tuple(" ".join(printable(word).split()) for word in words))
    show_table((*(["run"] if runs > 1 else []), "task", "episode", "agent", "outcome"), rows)
    say(f"  read one: harness show {quoted(results[0][0].parents[3])} TASK EPISODE")


def _emit(document: object) -> None:
    """Print JSON in ASCII, because untrusted text may hold characters that terminals interpret."""
    print(jsons.dumps(document, indent=2))


def _described(task: Task) -> dict[str, Any]:
    """Return task.toml with the options that the family declares added to those of the task."""
    document = task.file.model_dump(mode="json", exclude_defaults=True)
    if task.parley is not None:
        options = {
            name: spec.model_dump(mode="json", exclude_defaults=True) for name, spec in task.parley.declared_options.items()
        }
        document["metadata"]["parley"]["options"] = options
    return document


def _show_matrix(task: Task, *, json: bool) -> None:
    tables = family_part(task.family, "fact_matrix").matrix(task)
    if json:
        emit([table.document() for table in tables])
        return
    for table in tables:
        show_table(table.header, table.cells(), title=table.title)
        print("\n".join(table.notes))


def _show_rules(task: Task, *, json: bool) -> None:
    rules = stated_rules(task.path)
    if json:
        emit([{"rule": rule.words, "clients": list(rule.proofs)} for rule in rules])
        return
    if not rules:
        raise UsageError(f"{task.task_id} quotes no rules in {TABLE}", hint=f"harness show {quoted(task.task_id)}")
    show_table(("rule", "proved by"), [(printable(rule.words), printable(", ".join(rule.proofs))) for rule in rules])


def _show_openapi(task: Task) -> None:
    from worlds.core.served import openapi  # noqa: PLC0415 - imports FastAPI, which only this document needs

    if task.parley is None:
        raise UsageError(f"{task.task_id} is a Harbor task of another project, and has no Parley world")
    require(task)
    emit(openapi(open_world(task.world_folder)))


def _print(task: Task) -> None:
    ours = task.parley
    print(f"{task.task_id}  ({task.family})\n{task.file.task.description if task.file.task else ''}\n{task.path}\n")
    if ours is not None:
        if ours.certificate is not None:
            print(f"{ours.certificate}: nothing is proved about this task, and reports list it separately")
        print(f"difficulty {ours.difficulty}, axis {ours.category}" + _placed(ours.quadrant, ours.pattern))
        print(f"budget     {ours.budgets.steps} steps, {ours.budgets.virtual_seconds:,.15g} virtual seconds")
        print(f"costs      {', '.join(f'{name} {seconds:g} s' for name, seconds in ours.costs.items())}")
        print(f"interfaces {', '.join(ours.interfaces)}; seeds {ours.seeds}")
        for option, spec in ours.declared_options.items():
            print(f"option     {option} = {spec.default} ({'|'.join(map(str, spec.values)) or spec.type}): {spec.doc}")
        for knob, spec_k in ours.knobs.items():
            print(f"knob       {knob} = {spec_k.default:g} ({spec_k.min:g}..{spec_k.max:g}): {spec_k.doc}")
        for level, changes in ours.levels.items():
            print(f"level      {level}: {_changed(changes)}")
    print("\n" + (task.path / "instruction.md").read_text(encoding="utf-8"))


def _changed(changes: LevelChanges) -> str:
    """Return the differences of a level."""
    costs = {f"a {name} of": f"{seconds:g} s" for name, seconds in changes.costs.items()}
    told = {**changes.knobs, **changes.options, **changes.budgets.model_dump(exclude_none=True), **costs}
    return ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in told.items())


def _placed(quadrant: object, pattern: object) -> str:
    """Return the quadrant and pattern of a contract as text; other families have neither."""
    return "".join(f", {name} {value}" for name, value in (("quadrant", quadrant), ("pattern", pattern)) if value is not None)
