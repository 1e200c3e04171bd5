"""Tries every mutant of some tasks against their proof, side by side in copies of one process that has imported no room yet.

1. Every task is played and judged as it is, once, with a note of which lines run when (`ground`).
2. Each mutant goes to a copy of its own, with the tasks whose proof runs its line (`rounds`). What nothing runs has survived.
3. What survives in a task's own server is tried once more on the other seeds of the task: the first may not draw its case.
4. Of tasks that are data, and so share all their code, an even spread of ten of each family is played, each on one seed.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pydantic import Field, ValidationError

from harness.agents import solutions
from harness.authoring.mutants.copies import each_in_a_copy
from harness.authoring.mutants.ground import Ground, standing, surveyed
from harness.authoring.mutants.mutation import SourceMutant, drawn
from harness.authoring.mutants.report import ALIVE, Fate, MutantReport, TriedMutant
from harness.authoring.mutants.rounds import Progress, Trying, settle
from harness.authoring.mutants.targets import MutatedFile, mutants_in, targets
from harness.authoring.mutants.trial import reaching
from harness.authoring.scope import is_data, seeds_of, spread
from harness.errors import TaskInvalid
from harness.registry import Task
from harness.trust import require
from worlds.core.models import Strict

LIST = Path(__file__).with_name("equivalents.toml")


class Equivalent(Strict):
    """One entry of the list."""

    path: str
    within: str = ""
    line: str
    operator: str
    was: str
    reason: str = Field(min_length=10)

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What it says of a mutant (`SourceMutant.key`)."""
        return self.path, self.within, self.line, self.operator, self.was


def read_equivalents(path: Path = LIST) -> list[Equivalent]:
    """The entries; raises TaskInvalid for a list that cannot be read, or that says one thing twice."""
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
        listed = [Equivalent.model_validate(row) for row in rows]
    except (OSError, ValueError, ValidationError) as error:
        raise TaskInvalid(f"{path}:1: is no list of equivalents: {error}") from None
    seen: set[tuple[str, ...]] = set()
    for entry in listed:
        if entry.key in seen:
            raise TaskInvalid(f"{path}:1: lists {entry.operator} of `{entry.line}` in {entry.path} twice")
        seen.add(entry.key)
    return listed


def matched(listed: Sequence[Equivalent], mutants: Iterable[SourceMutant], files: Iterable[str]) -> dict[str, Equivalent]:
    """The entry of each mutant that has one, by its id; raises TaskInvalid for an entry of one of `files` that fits none."""
    by_key = {entry.key: entry for entry in listed}
    fitting = {mutant.id: by_key[mutant.key] for mutant in mutants if mutant.key in by_key}
    tried, used = set(files), {entry.key for entry in fitting.values()}
    for entry in listed:
        if entry.path in tried and entry.key not in used:
            raise TaskInvalid(
                f"{LIST}:1: {entry.path} has no {entry.operator} of `{entry.was}` in `{entry.line}` ({entry.within or 'top'})",
                hint="look at the line again, then correct or remove the entry",
            )
    return fitting


SEEDS = range(3)
"""On which seeds a mutant has to survive, where a task has them; tasks that are data, on the first."""

_WARM = (pytest, solutions)
"""What every copy needs, and imports no room of a family."""


def try_mutants(
    tasks: Sequence[Task],
    whole: Collection[str],
    seeds: Sequence[int] = SEEDS,
    *,
    draw: int | None = None,
    workers: int = 2,
    listed: Sequence[Equivalent] | None = None,
    progress: Progress = lambda line: None,
) -> MutantReport:
    """Return what becomes of the mutants of these tasks, and of what families share whose every task is among them (`whole`).

    `draw` tries only so many, chosen by hash. Raises TaskInvalid where a task is not proved as it is, or an
    equivalent that is listed fits nothing; UsageError where a task's code may not run here.
    """
    started = time.perf_counter()
    ours = [replace(task, path=task.path.resolve()) for task in tasks if task.parley is not None]
    for task in ours:
        require(task)
    files = targets(ours, whole)
    made = [(mutant, target) for target in files for mutant in mutants_in(target)]
    known = matched(
        read_equivalents() if listed is None else listed, (mutant for mutant, _ in made), (target.path for target in files)
    )
    same = [(mutant, target) for mutant, target in made if mutant.id in known]
    fates = {mutant.id: _fate(mutant, target, "equivalent", known[mutant.id].reason) for mutant, target in same}
    waiting = [(mutant, target) for mutant, target in made if mutant.id not in known]
    if draw is not None:
        wanted = {mutant.id for mutant in drawn([mutant for mutant, _ in waiting], draw)}
        waiting, fates = [one for one in waiting if one[0].id in wanted], {}
    progress(f"{len(waiting)} mutants of {len(files)} files, {len(fates)} known equivalents")
    fates |= _settled(ours, waiting, seeds, workers, progress)
    left = [one for one in waiting if one[1].kind == "server" and fates[one[0].id].fate in ALIVE]
    others = sorted({seed for task in ours for seed in seeds_of(task, None)} - set(seeds))
    if left and others:
        progress(f"{len(left)} survivors in servers, on the other seeds of their tasks")
        own = [task for task in ours if any(task == target.task for _, target in left)]
        fates |= _settled(own, left, others, workers, progress)
    ordered = tuple(fates[mutant.id] for mutant, _ in made if mutant.id in fates)
    return MutantReport(mutants=ordered, seconds=round(time.perf_counter() - started, 1), drawn=draw is not None)


def _settled(
    tasks: Sequence[Task],
    waiting: Sequence[tuple[SourceMutant, MutatedFile]],
    seeds: Sequence[int],
    workers: int,
    progress: Progress,
) -> dict[str, TriedMutant]:
    """The fate of each of these mutants on these seeds, by its id."""
    grounds = _surveyed(tasks, waiting, seeds, workers)
    progress(f"{sum(len(ground.plays) for ground in grounds)} episodes of {len(grounds)} tasks")
    trying = [Trying(mutant, target, reaching(mutant, target, grounds)) for mutant, target in waiting]
    told = settle(trying, workers, progress)
    return {one.mutant.id: _fate(one.mutant, one.target, fate, by) for one, fate, by in told}


def _surveyed(
    tasks: Sequence[Task], waiting: Sequence[tuple[SourceMutant, MutatedFile]], seeds: Sequence[int], workers: int
) -> list[Ground]:
    """Every task that is to be played, as it is."""
    own = {target.task.task_id for _, target in waiting if target.task is not None}
    shared = any(target.task is None for _, target in waiting)
    chosen = spread(tasks) if shared else own
    files = {str(target.file) for _, target in waiting}
    jobs = [(task, seeds_of(task, seeds)[: 1 if is_data(task) else None]) for task in tasks if task.task_id in chosen]
    surveys = each_in_a_copy(jobs, partial(_survey, files), workers)
    told = standing(ground or Ground(task, wrong="its proof did not come to an end") for (task, _), ground in surveys)
    return sorted(told, key=lambda ground: ground.task.task_id)


def _survey(files: Collection[str], job: tuple[Task, Sequence[int]]) -> Ground:
    try:
        return surveyed(*job, files)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a task's own code may raise anything
        return Ground(job[0], wrong=f"{type(error).__name__}: {error}".splitlines()[0])


def _fate(mutant: SourceMutant, target: MutatedFile, fate: Fate, by: str = "") -> TriedMutant:
    return TriedMutant(
        id=mutant.id, kind=target.kind, path=mutant.path, line=mutant.line, within=mutant.within, text=mutant.text,
        operator=mutant.operator, was=mutant.was, becomes=mutant.becomes, fate=fate, by=by,
    )  # fmt: skip
