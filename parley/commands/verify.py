"""`harness verify`: prove tasks, try mutants against the proof, run oracles with path mutations, attack tasks."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from harness.agents.solutions import SolutionAgent
from harness.atomic_write import writing
from harness.cli.signatures import Flags, flag, takes_flags
from harness.cli.tasks import Json, Names, Trust, selected
from harness.errors import GateFailed, RuntimeFailure, TaskInvalid, UsageError
from harness.output import emit, say
from harness.plugins import family_part_or_none
from harness.pod import Runtime, SandboxedRuntime
from harness.registry import Task
from harness.runs.plan import parse_seeds
from harness.runtime_choice import SANDBOXES, choose_runtime, runnable
from harness.tables import show_table
from harness.trust import TrustGate, gate
from parley.interop.foreign.variables import grant
from parley.proof.attacks.base import AttackRow, AttackRun
from parley.proof.attacks.suite import one_of_each_machine, run_attacks
from parley.proof.findings import UNCERTIFIED, ProofReport, TaskProof
from parley.proof.mutants.run import FATES, LEAST, MutantReport, TriedMutant, try_mutants
from parley.proof.mutants.run import SEEDS as MUTANT_SEEDS
from parley.proof.policies import HASTE_S, ONE_IN, PACES, SEEDS, THINKING_S, CurvePoint, curve
from parley.proof.proof import verify
from parley.proof.sandboxed_proof import choose_sandbox
from parley.reports.table import Column, Row, Table

BEGIN, END = "<!-- curve: harness verify contract --curve --into docs/contract.md -->", "<!-- end of curve -->"
"""Lines of a page around the curve."""

_COPYING = f"one character in {ONE_IN:,} of long values wrong"
NOTES = (
    f"hasty: no wait is longer than {HASTE_S} s",
    f"careless: {THINKING_S[0]} to {THINKING_S[1]} s of thought before a request, {_COPYING}",
)
"""Short descriptions of the clients."""

OVER_ALL = "all"
"""Name of the row with the means."""


def draw_curve(tasks: Sequence[Task], seeds: str | None, into: Path | None, *, json: bool) -> None:
    """Print the curve of these tasks, and write it into a page. Raises UsageError for a page without markers."""
    if into is not None:
        replaced(into, "")
    chosen = parse_seeds(seeds) if seeds else list(SEEDS)
    points = curve(tasks, chosen, say)
    if not points:
        raise UsageError("none of these tasks is played by a single client", hint="harness verify contract --curve")
    table = curve_table(points)
    if json:
        emit({**table.document(), "points": [point.model_dump() for point in points]})
    else:
        show_table(table.header, table.cells(), title=table.title)
        say("\n".join(table.notes))
    if into is not None:
        with writing(into):
            into.write_text(replaced(into, table.markdown()), encoding="utf-8")
        say(f"wrote {into}")


def curve_table(points: Sequence[CurvePoint]) -> Table:
    """Return a row per task, a column per level, and for each level the mean over the tasks that have it."""
    levels = sorted({point.level for point in points})
    names = list(dict.fromkeys(point.task_id for point in points))
    rows = [*(_row(name, [point for point in points if point.task_id == name]) for name in names), _row(OVER_ALL, points)]
    return Table(
        "curve", f"Wins in percent by level: {', '.join(PACES)}",
        (Column("task", "task"), *(Column(f"level_{level}", f"level {level}") for level in levels)), tuple(rows),
        (f"{points[0].episodes} seeds; a dash is a level that the task does not have, the last row is over the tasks that do",
         *NOTES),
    )  # fmt: skip


def replaced(page: Path, text: str) -> str:
    """Return the page with this text between its markers. Raises UsageError if it has none."""
    try:
        before, begun, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    except OSError as error:
        raise UsageError(f"{page}: {error.strerror}") from None
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise UsageError(f"{page} has no place for the curve: it needs a line {BEGIN!r}, and after it a line {END!r}")
    return f"{before}{begun}\n\n{text}\n{ended}{after}"


def _row(name: str, points: Sequence[CurvePoint]) -> Row:
    cells: dict[str, Any] = {"task": name}
    for level in sorted({point.level for point in points}):
        there = [point for point in points if point.level == level]
        cells[f"level_{level}"] = " / ".join(_rate([point for point in there if point.client == client]) for client in PACES)
    return cells


def _rate(points: Sequence[CurvePoint]) -> str:
    return f"{100 * sum(point.wins for point in points) / sum(point.episodes for point in points):.0f}"


_SHOWN = 40


@dataclass(frozen=True)
class VerifyFlags(Flags):
    """The values of the flags of `harness verify`."""

    names: Names = None
    seeds: str | None = flag(None, "Seeds to check, out of those of each task. Default: all.")
    runtime: str = flag(
        "inprocess", "Where clients play: inprocess, and then also in docker, bubblewrap or both, if named (docker,bubblewrap)."
    )
    workers: int = flag(2, "Processes, and episodes at the same time.", "--workers", "-n", min=1)
    sample: bool = flag(
        False,
        "In sandboxes, play only oracle, nop and one wrong client of each task on its first seed, and only ten tasks "
        "of each family whose tasks are data files. With --attacks, attack one task of each kind of sandbox.",
    )
    thorough: bool = flag(False, "Play each client twice, and on every seed at each level.", "--thorough")
    mutations: bool = flag(False, "Play each oracle with the --mutate changes of its family instead, and check the labels.")
    changed_first: bool = flag(False, "First check the folders that differ from the main branch.")
    attacks: bool = flag(False, "Attack the tasks instead, in --runtime or else the best one that works.", "--attacks")
    mutants: bool = flag(
        False, "Make small mistakes in servers, tests and shared rules instead. The checks must notice each.", "--mutants"
    )
    draw: int | None = flag(None, "Number of mutants to try with --mutants, selected by hash. Default: all.", min=1)
    curve: bool = flag(False, "Play a careful, a hasty and a careless client at each level instead.", "--curve")
    into: Path | None = flag(
        None,
        "Page into which --curve writes its table, between <!-- curve --> and <!-- end of curve -->.",
    )
    env: list[str] | None = flag(None, "Name of a host variable to pass to a task from another project. Repeatable.", "--env")
    trust: Trust = False
    json: Json = False


@takes_flags(VerifyFlags)
def verify_command(ctx: typer.Context, flags: VerifyFlags) -> None:
    """Check tasks. If one fails, print path, line and rule, and exit with 4."""
    trusted = gate(selected(ctx, flags.names), trust=flags.trust)
    tasks = grant(_changed_first(trusted.tasks) if flags.changed_first else trusted.tasks, flags.env or ())
    tasks = runnable(tasks, flags.names or (), say)
    if flags.mutations:
        trusted.demand("harness verify --mutations")
        _mutations(tasks, json=flags.json)
    elif flags.mutants:
        trusted.demand("harness verify --mutants")
        mutate_tasks(ctx, tasks, flags.seeds, draw=flags.draw, workers=flags.workers, json=flags.json)
    elif flags.curve:
        trusted.demand("harness verify --curve")
        draw_curve(tasks, flags.seeds, flags.into, json=flags.json)
    elif flags.attacks:
        attacked = one_of_each_machine(tasks) if flags.sample else tasks
        where = "auto" if flags.runtime == "inprocess" else flags.runtime
        attack_tasks(attacked, where, workers=flags.workers, json=flags.json)
    else:
        _prove(flags, trusted, tasks)


def _prove(flags: VerifyFlags, trusted: TrustGate, tasks: Sequence[Task]) -> None:
    """Check all claims about each task. Raises TaskInvalid if one does not hold."""
    runtimes = _runtimes(flags.runtime, tasks)
    foreign = [task for task in tasks if task.parley is None]
    docker = _docker(foreign, alone=len(foreign) == len(tasks)) if foreign and not runtimes else None
    seeds = parse_seeds(flags.seeds) if flags.seeds else None
    sandbox = _sandbox(flags.runtime) if trusted.outside else None
    for line in trusted.told(sandbox.name if sandbox else ""):
        say(line)
    proved = verify(
        tasks, seeds, runtimes=runtimes, sandbox=sandbox, docker=docker, workers=flags.workers, thorough=flags.thorough,
        sample=flags.sample, progress=_tell,
    )  # fmt: skip
    if flags.json:
        emit({**proved.model_dump(mode="json"), "ok": proved.ok})
    else:
        _show(proved)
    if not proved.ok:
        wrong = sum(not task.ok for task in proved.tasks)
        raise TaskInvalid(f"{wrong} of {len(proved.tasks)} tasks failed")


def _mutations(tasks: Sequence[Task], *, json: bool) -> None:
    """Play oracles with the `--mutate` changes of the family. Raises TaskInvalid if a label differs from the predicted one."""
    of_family = {name: part for name in _families(tasks) if (part := family_part_or_none(name, "authoring.mutations"))}
    if not of_family:
        raise UsageError(f"{', '.join(_families(tasks))} has no mutations", hint="harness verify --mutations")
    cells = {name: part.matrix([task for task in tasks if task.family == name]) for name, part in of_family.items()}
    wrong = sum(not cell.ok for row in cells.values() for cell in row)
    if json:
        emit({"ok": not wrong, "cells": [cell.model_dump() for row in cells.values() for cell in row]})
    else:
        for name, part in of_family.items():
            table = part.table(cells[name])
            show_table(table.header, table.cells())
            say("\n".join(table.notes))
    if wrong:
        raise TaskInvalid(f"{wrong} labels differ from the predicted ones")


def _families(tasks: Sequence[Task]) -> list[str]:
    return sorted({task.family for task in tasks})


def _sandbox(names: str) -> SandboxedRuntime:
    """Return the sandbox for proofs of foreign code: the first one requested, else the best available."""
    return choose_sandbox(next((name for name in names.split(",") if name in SANDBOXES), "auto"), say)


def _docker(tasks: Sequence[Task], *, alone: bool) -> Runtime | None:
    """Return the runtime that proves foreign tasks; None if Docker does not work and there are other tasks."""
    try:
        (docker,) = _runtimes("docker", tasks)
    except RuntimeFailure:
        if alone:
            raise
        return None
    say("runtime: docker, which Harbor tasks of other projects need")
    return docker


def _runtimes(names: str, tasks: Sequence[Task]) -> list[Runtime]:
    """Return the requested runtimes, after removing orphaned resources. Images are built later, task by task."""
    chosen = [choose_runtime(name, tasks, [SolutionAgent()], say) for name in names.split(",") if name != "inprocess"]
    for runtime in chosen:
        runtime.sweep()
    return chosen


def _tell(proved: TaskProof) -> None:
    counted = f"{len(proved.checks)} checks in {proved.seconds:.1f} s"
    say(f"{proved.task_id}: {'ok' if proved.ok else f'{len(proved.failed)} failed'}, {counted}")


def _show(report: ProofReport) -> None:
    findings = [str(finding) for finding in report.findings()]
    _show_first(findings, "more findings; harness verify --json prints all")
    for task in report.tasks:
        if task.missing is not None:
            print(f"{task.task_id}: uncertified: {task.missing}")
    rows = [(task.task_id, task.verdict, len(task.checks), len(task.failed), f"{task.seconds:.1f}") for task in report.tasks]
    show_table(("task", "verdict", "checks", "failed", "seconds"), rows)
    uncertified = sum(task.verdict == UNCERTIFIED for task in report.tasks)
    apart = f", {uncertified} of them uncertified" if uncertified else ""
    say(f"{sum(task.ok for task in report.tasks)} of {len(report.tasks)} tasks passed{apart}, {report.seconds:.1f} s")


def _show_first(lines: Sequence[str], more: str) -> None:
    """Print the first lines, and the number of lines that are left out."""
    for line in lines[:_SHOWN]:
        print(line)
    if len(lines) > _SHOWN:
        say(f"and {len(lines) - _SHOWN} {more}")


def _changed_first(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks with files that differ from the merge base with main, then the others, each in registry order."""
    names = _changed_files()
    changed = [task for task in tasks if any(task.path in (Path.cwd() / name).parents for name in names)]
    return [*changed, *(task for task in tasks if task not in changed)]


def _changed_files() -> list[str]:
    """Return names of files changed since main, relative to the checkout; empty if git fails."""
    for base in ("origin/main", "main~1"):
        done = subprocess.run(["git", "diff", "--name-only", f"{base}..."], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.splitlines()
    return []


def attack_tasks(tasks: Sequence[Task], runtime: str, *, workers: int, json: bool) -> None:
    """Attack every task. Raises TaskInvalid if an attack succeeds, RuntimeFailure if one cannot be made."""
    chosen = choose_runtime(runtime, tasks, [SolutionAgent()], say)
    for line in TrustGate(tuple(tasks)).told(chosen.name):
        say(line)
    chosen.sweep()
    siege = run_attacks(tasks, chosen, workers=workers, progress=_tell_attack)
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


def _tell_attack(row: AttackRow) -> None:
    """Print a row in one line; attacks that could not be made are reported once, at the end."""
    told = {"held": f"held ({row.examined} examined)", "n/a": f"n/a: {row.reason}"}
    if row.outcome != "error":
        say(f"{row.task_id}: {row.attack} {row.name}: {told.get(row.outcome, row.outcome.upper())}, {row.seconds:.1f} s")


def show_siege(siege: AttackRun) -> None:
    """Print a line for each hole and the table on stdout, and notes and the count on stderr."""
    lines = [f"{row.task_id}: [{row.attack} {row.name}] {hole}" for row in siege.rows for hole in row.holes]
    lines += _unmade(siege.unmade)
    _show_first(lines, "more; harness verify --attacks --json prints all")
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


def mutate_tasks(
    ctx: typer.Context, tasks: Sequence[Task], seeds: str | None, *, draw: int | None, workers: int, json: bool
) -> None:
    """Try mutants of these tasks, and of the shared code of whole families. Raises GateFailed if too many survive."""
    every = Counter(task.family for task in selected(ctx, []))
    whole = [family for family, count in Counter(task.family for task in tasks).items() if count == every[family]]
    chosen = parse_seeds(seeds) if seeds else MUTANT_SEEDS
    report = try_mutants(tasks, whole, chosen, draw=draw, workers=workers, progress=say)
    if json:
        emit({**report.model_dump(mode="json"), "ok": report.ok, "share": report.share})
    else:
        show_mutants(report)
    if report.rules_alive:
        raise GateFailed(
            f"{len(report.rules_alive)} mutants of rules survived; in a task's server, none may survive",
            hint="write a client that notices, or list the line with a reason in equivalents.toml; see docs/mutants.md",
        )
    if not report.ok:
        alive = len(report.of("survived", "unreached"))
        raise GateFailed(
            f"{alive} of {len(report.mutants)} mutants survived, at most {report.allowed} may: {LEAST:.0%} must be caught",
            hint="write a client or a check that notices the survivors; see docs/mutants.md",
        )


def show_mutants(report: MutantReport) -> None:
    """Print a line for each survivor and the table on stdout, and the share of killed mutants on stderr."""
    for mutant in report.of("survived", "unreached"):
        print(_line(mutant))
    show_table(("files", "mutants", *FATES), list(report.rows()))
    say(f"{report.share:.1%} of the mutants that are not equivalent were caught, {report.seconds:.0f} s")


def _line(mutant: TriedMutant) -> str:
    """Return `path:line: [operator] fate: change`, a format that editors parse."""
    was, becomes = (" ".join(text.split())[:60] for text in (mutant.was or mutant.text, mutant.becomes))
    return f"{mutant.path}:{mutant.line}: [{mutant.operator}] {mutant.fate}: `{was}` -> `{becomes}`"
