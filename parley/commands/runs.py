"""`harness runs`: the runs in a folder, newest first, with time, tasks, player, progress, results and cost.

`cost` is that of the current episodes. The cost of every call, including lost attempts, is in spending.jsonl, and is printed in
notes below the table if it is higher: a sweep has one such file for all its parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from harness.agents.llm.meter import Spent
from harness.cli.amounts import cost_told, counted, short, size, spent_by
from harness.cli.tasks import Json
from harness.errors import HarnessError, UsageError
from harness.output import emit, say
from harness.records import RunFolder
from harness.run_files import is_packed
from harness.runs.ledger import RunLedger
from harness.runs.request import RunRecord, read_record
from harness.sanitize import printable
from harness.tables import show_table
from parley.places import run_name, runs_in
from parley.tables import say_notes

_COLUMNS = ("run", "begun", "ended", "tasks", "who", "done", "success", "cost", "size", "state")


def runs_command(
    folder: Path = typer.Argument(Path("runs"), help="Folder of runs, or a single run."), json: Json = False
) -> None:
    """List runs, one row each. Every part of a sweep has its own row."""
    if not (folder.is_dir() or is_packed(folder)):
        raise UsageError(f"{folder} is not a folder of runs", hint="harness run TASK, or harness runs FOLDER")
    rows: list[dict[str, Any]] = []
    damaged: list[HarnessError] = []
    for path in runs_in(folder):
        try:
            rows.append(_row(path, folder, damaged))
        except HarnessError as error:
            damaged.append(error)
    rows.sort(key=lambda row: (row["begun"] or "", row["run"]), reverse=True)
    if json:
        emit(rows)
    elif rows:
        show_table(_COLUMNS, [_shown(row) for row in rows])
        say_notes(_more(rows))
    else:
        say(f"{folder} contains no run")
    for damage in damaged:
        say(printable(f"warning: {damage}"))


def _row(path: Path, folder: Path, damaged: list[HarnessError]) -> dict[str, Any]:
    """Return the row of one run; unreadable episodes are appended to `damaged`."""
    run = RunFolder(path)
    record = read_record(run)
    if record is None:
        raise UsageError(f"the run.json of {path} is missing")
    results = list(run.results(damaged))
    graded = [result for result in results if result.status == "graded"]
    planned, spent = record.planned, spent_by(results)
    return {
        "run": str(path.relative_to(folder).with_name(run_name(path))) if path != folder else run_name(path),
        "path": str(path),
        "begun": record.stints[0].begun if record.stints else None,
        "ended": record.stints[-1].ended if record.stints else None,
        "tasks": _tasks(record),
        "who": record.identity.agent.model or record.identity.agent.name,
        "planned": planned,
        "done": len(graded),
        "ungraded": len(results) - len(graded),
        "success": sum(result.success for result in graded),
        "calls": spent.calls,
        "tokens": spent.tokens,
        "cost_usd": spent.cost_usd if spent.unpriced < spent.calls or not spent.calls else None,
        "cost": cost_told(spent),
        "kept_calls": spent.kept,
        "all_calls": _all_calls(path.parent if record.part else path, damaged),
        "bytes": run.size,
        "state": _state(path, len(graded), planned),
        "command": record.stints[0].command if record.stints else "",
        "version": record.stints[-1].version if record.stints else "",
        "commit": record.stints[-1].commit if record.stints else "",
        "amendments": [one.model_dump(mode="json") for one in record.amendments],
    }


def _all_calls(folder: Path, damaged: list[HarnessError]) -> dict[str, Any] | None:
    """Return the usage of every call of a run or a sweep; None if no model was called or none was recorded."""
    try:
        spent = RunLedger(folder).read()
    except HarnessError as error:
        damaged.append(error)
        return None
    return {"path": str(folder), **asdict(spent)} if spent.calls else None


def _more(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each run or sweep with more calls than its episodes show."""
    whole = {row["all_calls"]["path"]: row["all_calls"] for row in rows if row["all_calls"]}
    for path, calls in whole.items():
        shown = [row for row in rows if row["all_calls"] and row["all_calls"]["path"] == path]
        # for a part that is listed alone, its share of the sweep's calls is unknown
        is_whole = len(shown) >= len([*Path(path).glob("*/run.json")])
        if is_whole and calls["calls"] > sum(row["calls"] - row["kept_calls"] for row in shown):
            spent = Spent(**{name: value for name, value in calls.items() if name != "path"})
            told = f"{counted(spent.calls, 'call')}, {short(spent.tokens)} tokens, {cost_told(spent)}"
            yield f"{path}: in total, with attempts that were lost or abandoned, {told}"


def _tasks(record: RunRecord) -> str:
    """Return the task if there is one, else the number of tasks."""
    names: Sequence[str] = list(record.identity.tasks)
    return names[0] if len(names) == 1 else f"{len(names)} tasks"


def _state(path: Path, graded: int, planned: int) -> str:
    """Return `running` if a process holds the folder, else a state by the number of graded episodes."""
    if RunFolder(path).is_played:
        return "running"
    if is_packed(path):
        return "packed" if graded >= planned else "packed unfinished"
    return "complete" if graded >= planned else "unfinished"


def _shown(row: dict[str, Any]) -> tuple[object, ...]:
    times = [_local(row[name]) for name in ("begun", "ended")]
    done, taken = f"{row['done']}/{row['planned']}", size(row["bytes"])
    who, cost = (row["tasks"], row["who"]), row["cost"] or "-"
    return (row["run"], *times, *who, done, row["success"], cost, taken, row["state"])


def _local(time: str | None) -> str:
    """Return a recorded time in this machine's time zone."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}" if time else "-"
    except ValueError:
        return "-"
