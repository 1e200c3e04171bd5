"""`harness verify --attacks`: the attack suite on any folder, as a table, or as JSON with every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.agents.solutions import SolutionAgent
from harness.errors import RuntimeFailure, TaskInvalid
from harness.output import emit, say, show_table
from harness.registry import Task
from harness.runtime_choice import choose_runtime
from harness.trust import TrustGate
from parley.proof.attacks.base import AttackRow, Siege
from parley.proof.attacks.suite import besiege

_SHOWN = 40


def attack_tasks(tasks: Sequence[Task], runtime: str, *, workers: int, json: bool) -> None:
    """Attack every task. Raises TaskInvalid if an attack succeeds, RuntimeFailure if one cannot be made."""
    chosen = choose_runtime(runtime, tasks, [SolutionAgent()], say)
    for line in TrustGate(tuple(tasks)).told(chosen.name):
        say(line)
    chosen.sweep()
    siege = besiege(tasks, chosen, workers=workers, progress=_tell)
    if json:
        emit(siege.model_dump(mode="json"))
    else:
        show_siege(siege)
    missing, count = siege.unmade, len(siege.rows)
    unmade = f"{len(missing)} of {count} attacks could not be made"
    if broken := siege.of("broken"):
        raise TaskInvalid((f"{unmade}, and " if missing else "") + f"{len(broken)} of {count} attacks succeeded")
    if missing:
        hints = {row.hint for row in missing}
        raise RuntimeFailure(unmade, hint=hints.pop() if len(hints) == 1 and "" not in hints else "harness doctor")


def _tell(row: AttackRow) -> None:
    """Print a row in one line; attacks that could not be made are reported once, at the end."""
    told = {"held": f"held ({row.examined} examined)", "n/a": f"n/a: {row.reason}"}
    if row.outcome != "error":
        say(f"{row.task_id}: {row.attack} {row.name}: {told.get(row.outcome, row.outcome.upper())}, {row.seconds:.1f} s")


def show_siege(siege: Siege) -> None:
    """Print a line for each hole and the table on stdout, and notes and the count on stderr."""
    lines = [f"{row.task_id}: [{row.attack} {row.name}] {hole}" for row in siege.rows for hole in row.holes]
    lines += _unmade(siege.unmade)
    for line in lines[:_SHOWN]:
        print(line)
    if len(lines) > _SHOWN:
        say(f"and {len(lines) - _SHOWN} more; harness verify --attacks --json has all")
    if len(siege.unmade) < len(siege.rows):
        show_table(("attack", "name", "flaw classes", "rows", "examined", "outcome"), siege.summary())
    notes = [f"{row.task_id}: [{row.attack} {row.name}] note: {note}" for row in siege.rows for note in row.notes]
    for note in notes[:_SHOWN]:
        say(note)
    say(siege.told())


def _unmade(rows: Sequence[AttackRow]) -> Iterator[str]:
    """Yield a line for each reason why attacks on a folder could not be made."""
    for task_id, reason in dict.fromkeys((row.task_id, row.reason) for row in rows):
        mine = [row for row in rows if (row.task_id, row.reason) == (task_id, reason)]
        which = f"{mine[0].attack} {mine[0].name}" if len(mine) == 1 else f"{len(mine)} attacks"
        yield f"{task_id}: [{which}] could not be made: {reason or 'nothing was examined'}"
