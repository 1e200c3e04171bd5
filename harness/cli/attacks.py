"""`harness verify --attacks`: the attack suite on any folder, as a table, or as JSON with every row."""

from __future__ import annotations

from collections.abc import Sequence

from harness.agents.solutions import SolutionAgent
from harness.attacks.report import AttackRow, Siege
from harness.attacks.suite import besiege
from harness.console import emit, say, show_table
from harness.errors import RuntimeFailure, TaskInvalid
from harness.play.choose import choose_runtime
from harness.registry import Task
from harness.trust import TrustGate

_SHOWN = 40


def attack_tasks(tasks: Sequence[Task], runtime: str, *, workers: int, json: bool) -> None:
    """Attack every task; raises TaskInvalid where an attack succeeds, RuntimeFailure where one cannot be made."""
    chosen = choose_runtime(runtime, tasks, [SolutionAgent()], say)
    for line in TrustGate(tuple(tasks)).told(chosen.name):
        say(line)
    chosen.sweep()
    siege = besiege(tasks, chosen, workers=workers, progress=_tell)
    if json:
        emit(siege.model_dump(mode="json"))
    else:
        show_siege(siege)
    if broken := siege.of("broken"):
        raise TaskInvalid(f"{len(broken)} of {len(siege.rows)} attacks succeeded")
    if not siege.ok:
        missing = [*siege.of("error"), *siege.of("vacuous")]
        raise RuntimeFailure(f"{len(missing)} of {len(siege.rows)} attacks could not be made", hint="harness doctor")


def _tell(row: AttackRow) -> None:
    told = {"held": f"held ({row.examined} examined)", "n/a": f"n/a: {row.reason}", "error": f"ERROR: {row.reason}"}
    say(f"{row.task_id}: {row.attack} {row.name}: {told.get(row.outcome, row.outcome.upper())}, {row.seconds:.1f} s")


def show_siege(siege: Siege) -> None:
    """A line for each hole and the table, on stdout; notes and the count beside them."""
    lines = [f"{row.task_id}: [{row.attack} {row.name}] {hole}" for row in siege.rows for hole in row.holes]
    lines += [f"{row.task_id}: [{row.attack} {row.name}] {row.outcome}: {row.reason or 'nothing was examined'}"
              for row in siege.rows if row.outcome in {"error", "vacuous"}]  # fmt: skip
    for line in lines[:_SHOWN]:
        print(line)
    if len(lines) > _SHOWN:
        say(f"and {len(lines) - _SHOWN} more; harness verify --attacks --json has all")
    show_table(("attack", "name", "flaw classes", "rows", "examined", "outcome"), siege.summary())
    notes = [f"{row.task_id}: [{row.attack} {row.name}] note: {note}" for row in siege.rows for note in row.notes]
    for note in notes[:_SHOWN]:
        say(note)
    say(f"{len(siege.of('broken'))} of {len(siege.rows)} attacks succeeded in {siege.runtime}, {siege.seconds:.1f} s")
