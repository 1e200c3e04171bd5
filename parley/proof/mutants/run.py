"""Runs the checks of `harness verify` on every mutant, in parallel forks of a process that has not imported any world yet.

Every task is played and judged once without changes, recording which lines run in which episode (`Ground`). Then each mutant
goes through rounds until it is detected, each round in a new fork: first the checks of the quickest tasks (`FEW`) that run its
line; then, for a module that tasks share, the unit tests that run its line (`units`); then the checks of every task on all
seeds. In games, whose validators measure more than the verdict shows, the first round plays only the oracle. Survivors in a
task's own server are tried again on the task's other seeds. See docs/mutants.md.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from math import comb
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import pytest
import tomli
from pydantic import Field, ValidationError

from harness.agents import solutions
from harness.errors import TaskInvalid
from harness.registry import Task
from harness.trust import require
from parley.proof.mutants.copies import each_in_a_copy
from parley.proof.mutants.operators import SourceMutant, drawn
from parley.proof.mutants.targets import ROOT, MutatedFile, mutants_in, targets
from parley.proof.mutants.trial import STAGES, Ground, first_line, reaching, standing, surveyed, tried
from parley.proof.mutants.units import UnitTests, noticed_by_units, surveyed_units
from parley.proof.plays import is_data, seeds_of, spread
from worlds.core.models import Strict

Fate = Literal["died", "unit-tests", "hung", "survived", "unreached", "equivalent"]
"""`died`: detected by the checks. `unit-tests`: in a shared module, detected by unit tests after surviving the checks.

`hung`: exceeded its time, which counts as detected. `unreached`: survived because its line never runs.
"""

FATES: tuple[Fate, ...] = get_args(Fate)
DEAD: tuple[Fate, ...] = ("died", "unit-tests", "hung")
ALIVE: tuple[Fate, ...] = ("survived", "unreached")

LEAST = 0.95
"""Minimum share of mutants that must be detected, without those listed as equivalent."""

SURE = 0.999
"""Confidence level for a random draw of mutants: at the minimum share, the draw is accepted with this probability."""


class TriedMutant(Strict):
    """A mutant and its fate."""

    id: str
    kind: str
    """server, tests, worlds or validators."""

    path: str
    line: int
    within: str
    text: str
    operator: str
    was: str
    becomes: str
    fate: Fate
    by: str = ""
    """The task and check, or the unit test, that detected it; for an equivalent, the reason."""


class MutantReport(Strict):
    """All mutants of a run, as printed by `harness verify --mutants --json`."""

    mutants: tuple[TriedMutant, ...]
    seconds: float
    drawn: bool = False
    """True if these are a random draw of all mutants."""

    def of(self, *fates: Fate) -> list[TriedMutant]:
        """Return the mutants with one of these fates."""
        return [mutant for mutant in self.mutants if mutant.fate in fates]

    @property
    def share(self) -> float:
        """Share of detected mutants among those that are not equivalent; 1 if there are none."""
        dead, alive = len(self.of(*DEAD)), len(self.of(*ALIVE))
        return dead / (dead + alive) if dead + alive else 1.0

    @property
    def allowed(self) -> int:
        """Maximum number of mutants that may survive."""
        tried = len(self.mutants) - len(self.of("equivalent"))
        return _most_alive(tried) if self.drawn else int(tried * (1 - LEAST) + 1e-9)

    @property
    def rules_alive(self) -> list[TriedMutant]:
        """Survivors in a task's server, which contains its rules. Only listed ones with a reason are allowed."""
        return [mutant for mutant in self.of(*ALIVE) if mutant.kind == "server"]

    @property
    def ok(self) -> bool:
        """True if no rule's mutant survived and enough of the others were detected."""
        return not self.rules_alive and len(self.of(*ALIVE)) <= self.allowed

    def rows(self) -> Iterator[tuple[str | int, ...]]:
        """Yield, for each kind of file and for all, the number of mutants and the count of each fate."""
        for kind in (*sorted({mutant.kind for mutant in self.mutants}), "all"):
            fates = [mutant.fate for mutant in self.mutants if kind in (mutant.kind, "all")]
            yield kind, len(fates), *(fates.count(fate) for fate in FATES)


def _most_alive(count: int) -> int:
    """Return the most survivors in a draw of this size that are consistent with the minimum share."""
    total, chance = 0.0, 1 - LEAST
    for alive in range(count + 1):
        total += comb(count, alive) * chance**alive * LEAST ** (count - alive)
        if total >= SURE:
            return alive
    return count


_SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None

FEW = 2
"""Number of tasks whose checks are tried before the unit tests.

Most mutants that one task detects are detected by all, and the checks of 30 tasks take longer than the unit tests.
"""

Progress = Callable[[str], None]


class Trying(NamedTuple):
    """A mutant being tried, with the tasks whose checks run its line."""

    mutant: SourceMutant
    target: MutatedFile
    grounds: Sequence[Ground]


Check = Callable[[Trying, Path], str]
"""Function that tries a mutant in a scratch folder, and returns what detected it, or an empty string."""

_MORE = [slice(0, 3), *STAGES[2:]]

Told = tuple[Trying, Fate, str]
"""A mutant, its fate, and what detected it."""


def settle(trying: Sequence[Trying], workers: int, progress: Progress) -> Iterator[Told]:
    """Yield each mutant with its fate. Raises TaskInvalid if the unit tests fail without any change."""
    # in random order, so that partial results are a fair sample
    alive = sorted(trying, key=lambda one: one.mutant.lot)
    with tempfile.TemporaryDirectory(prefix="parley-mutants-", dir=os.environ.get("TMPDIR", _SCRATCH)) as scratch:
        rounds = _Rounds(Path(scratch), workers, progress)
        alive = yield from rounds.held(alive, "died", _by_proof, lambda one: bool(one.grounds))
        shared = [one for one in alive if one.target.task is None]
        units = rounds.surveyed(shared)
        by_units: Check = lambda one, folder: noticed_by_units(one.mutant, one.target, units, folder)  # noqa: E731
        by_more: Check = lambda one, folder: tried(one.mutant, one.target, one.grounds, folder, _MORE)  # noqa: E731
        shared = yield from rounds.held(
            shared, "unit-tests", by_units, lambda one: bool(units.reaching(one.mutant, one.target))
        )
        last = yield from rounds.held(shared, "died", by_more, _has_more)
    for one in [*(one for one in alive if one.target.task), *last]:
        reached = one.grounds or units.reaching(one.mutant, one.target)
        progress(f"{one.mutant.id} {'survived' if reached else 'unreached'}")
        yield one, "survived" if reached else "unreached", ""


class _Rounds:
    """Rounds of checks over the mutants that are still alive."""

    def __init__(self, scratch: Path, workers: int, progress: Progress) -> None:
        self._scratch, self._workers, self._progress = scratch, workers, progress

    def held(
        self, trying: Sequence[Trying], fate: Fate, work: Check, able: Callable[[Trying], bool]
    ) -> Generator[Told, None, list[Trying]]:
        """Run the checks of this round on each mutant. Yield those that were detected; return the rest."""
        jobs, left = [one for one in trying if able(one)], [one for one in trying if not able(one)]
        done = 0
        with closing(each_in_a_copy(jobs, partial(_in_scratch, self._scratch, work), self._workers)) as copies:
            for one, noticed in copies:
                done += 1
                if noticed is None:
                    yield one, "hung", ""
                elif noticed:
                    yield one, fate, noticed
                else:
                    left.append(one)
                shutil.rmtree(_folder(self._scratch, one), ignore_errors=True)
                if done % 100 == 0:
                    self._progress(f"{done} of {len(jobs)} by {fate}, {len(left)} not detected")
        return left

    def surveyed(self, shared: Sequence[Trying]) -> UnitTests:
        """Return which lines of these files the unit tests run, if this is a checkout with tests."""
        targets = list(dict.fromkeys(one.target for one in shared))
        if not targets or not (ROOT / "tests").is_dir():
            return UnitTests()
        with closing(each_in_a_copy([targets], surveyed_units, 1)) as copies:
            units = next(copies)[1]
        if units is None or units.failing:
            what = units.failing[0] if units else "they did not finish"
            raise TaskInvalid(f"{ROOT}/tests:1: the unit tests fail without any mutant ({what})", hint="make test")
        self._progress(f"{len(units.seconds)} unit tests")
        return units


def _in_scratch(scratch: Path, work: Check, one: Trying) -> str:
    folder = _folder(scratch, one)
    folder.mkdir()
    # temporary files of the judge are in this folder, and removed with it even if this fork is killed
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        return work(one, folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the mutant cannot even be imported
        return first_line(error)


def _folder(scratch: Path, one: Trying) -> Path:
    return scratch / hashlib.sha256(one.mutant.id.encode()).hexdigest()[:24]


def _by_proof(one: Trying, folder: Path) -> str:
    asked = first_asked(one)
    games = all(ground.task.is_seated for ground in asked)
    return tried(one.mutant, one.target, asked, folder, STAGES if one.target.task else () if games else STAGES[:1])


def first_asked(one: Trying) -> Sequence[Ground]:
    """Return the quickest tasks, which the first round tries."""
    return one.grounds[:FEW]


def _has_more(one: Trying) -> bool:
    """Return True if the last round has a task or a seed that the first round did not have."""
    several = len(first_asked(one)) < len(one.grounds) or any(len(ground.seeds()) > 1 for ground in one.grounds)
    return several or any(ground.task.is_seated for ground in one.grounds)


LIST = Path(__file__).with_name("equivalents.toml")


class Equivalent(Strict):
    """An entry of the list of equivalent mutants."""

    path: str
    within: str = ""
    line: str
    operator: str
    was: str
    reason: str = Field(min_length=10)

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The identity of its mutant (`SourceMutant.key`)."""
        return self.path, self.within, self.line, self.operator, self.was


def read_equivalents(path: Path = LIST) -> list[Equivalent]:
    """Read the list of equivalents. Raises TaskInvalid if it cannot be read or has duplicates."""
    try:
        rows = tomli.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
        listed = [Equivalent.model_validate(row) for row in rows]
    except (OSError, ValueError, ValidationError) as error:
        raise TaskInvalid(f"{path}:1: is not a valid list of equivalents: {error}") from None
    seen: set[tuple[str, ...]] = set()
    for entry in listed:
        if entry.key in seen:
            raise TaskInvalid(f"{path}:1: lists {entry.operator} of `{entry.line}` in {entry.path} twice")
        seen.add(entry.key)
    return listed


def matched(listed: Sequence[Equivalent], mutants: Iterable[SourceMutant], files: Iterable[str]) -> dict[str, Equivalent]:
    """Return the entries of listed mutants, by id. Raises TaskInvalid for an entry of one of `files` that matches no mutant."""
    by_key = {entry.key: entry for entry in listed}
    fitting = {mutant.id: by_key[mutant.key] for mutant in mutants if mutant.key in by_key}
    tried, used = set(files), {entry.key for entry in fitting.values()}
    for entry in listed:
        if entry.path in tried and entry.key not in used:
            raise TaskInvalid(
                f"{LIST}:1: {entry.path} lacks {entry.operator} of `{entry.was}` in `{entry.line}` ({entry.within or 'top'})",
                hint="check the line, then correct or remove the entry",
            )
    return fitting


SEEDS = range(3)
"""Seeds on which a mutant has to survive, if a task has them; tasks that are data use only the first."""

_WARM = (pytest, solutions)
"""Modules that every fork needs and that do not import any family's world."""


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
    """Try the mutants of these tasks, and of the files shared by each family in `whole`, all of whose tasks are among them.

    Return the fate of each. `draw` tries only this many, selected by hash. Raises TaskInvalid if the checks of a task fail
    without changes, or a listed equivalent matches nothing, and UsageError if a task's code may not run here.
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
    """Return the fate of each of these mutants on these seeds, by id."""
    grounds = _surveyed(tasks, waiting, seeds, workers)
    progress(f"{sum(len(ground.plays) for ground in grounds)} episodes of {len(grounds)} tasks")
    trying = [Trying(mutant, target, reaching(mutant, target, grounds)) for mutant, target in waiting]
    told = settle(trying, workers, progress)
    return {one.mutant.id: _fate(one.mutant, one.target, fate, by) for one, fate, by in told}


def _surveyed(
    tasks: Sequence[Task], waiting: Sequence[tuple[SourceMutant, MutatedFile]], seeds: Sequence[int], workers: int
) -> list[Ground]:
    """Return the `Ground` of every task to be played."""
    own = {target.task.task_id for _, target in waiting if target.task is not None}
    shared = any(target.task is None for _, target in waiting)
    chosen = spread(tasks) if shared else own
    files = {str(target.file) for _, target in waiting}
    jobs = [(task, seeds_of(task, seeds)[: 1 if is_data(task) else None]) for task in tasks if task.task_id in chosen]
    surveys = each_in_a_copy(jobs, partial(_survey, files), workers)
    told = standing(ground or Ground(task, wrong="its checks did not finish") for (task, _), ground in surveys)
    return sorted(told, key=lambda ground: ground.task.task_id)


def _survey(files: Collection[str], job: tuple[Task, Sequence[int]]) -> Ground:
    try:
        return surveyed(*job, files)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a task's own code may raise anything
        return Ground(job[0], wrong=first_line(error))


def _fate(mutant: SourceMutant, target: MutatedFile, fate: Fate, by: str = "") -> TriedMutant:
    return TriedMutant(
        id=mutant.id, kind=target.kind, path=mutant.path, line=mutant.line, within=mutant.within, text=mutant.text,
        operator=mutant.operator, was=mutant.was, becomes=mutant.becomes, fate=fate, by=by,
    )  # fmt: skip
