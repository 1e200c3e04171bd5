"""Tries every mutant of some tasks against their proof, side by side in copies of one process that has imported no room yet.

1. Every task is played and judged as it is, once, with a note of which lines run when (`Ground`).
2. Each mutant goes to a copy of its own, with the tasks whose proof runs its line. What nothing runs has survived.
3. What survives in a task's own server is tried once more on the other seeds of the task: the first may not draw its case.
4. Of tasks that are data, and so share all their code, an even spread of ten of each family is played, each on one seed.

What a mutant goes through until something notices it, each time in a copy of its own.

1. The proof: of a task's own file all of it, of a shared room that of the quickest tasks (`FEW`) on their first seed; in games,
   whose validators measure more than a verdict says, the right client alone.
2. For a shared room, the unit tests that run the changed line (`units`).
3. For a shared room, the proof of every task on all seeds: the dearest comes last.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from math import comb
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import pytest
from pydantic import Field, ValidationError

from harness.agents import solutions
from harness.authoring.mutants.copies import each_in_a_copy
from harness.authoring.mutants.operators import SourceMutant, drawn
from harness.authoring.mutants.targets import ROOT, MutatedFile, mutants_in, targets
from harness.authoring.mutants.trial import STAGES, Ground, reaching, standing, surveyed, tried
from harness.authoring.mutants.units import UnitTests, noticed_by_units, surveyed_units
from harness.authoring.plays import is_data, seeds_of, spread
from harness.errors import TaskInvalid
from harness.registry import Task
from harness.trust import require
from worlds.core.models import Strict

Fate = Literal["died", "unit-tests", "hung", "survived", "unreached", "equivalent"]
"""`died` by the proof; by `unit-tests` what the proof let live, in rooms that tasks share. `hung` is dead too: it used up its
time. `unreached` survived because nothing runs its line."""

FATES: tuple[Fate, ...] = get_args(Fate)
DEAD: tuple[Fate, ...] = ("died", "unit-tests", "hung")
ALIVE: tuple[Fate, ...] = ("survived", "unreached")

LEAST = 0.95
"""The share of mutants without an entry among the equivalents that must die."""

SURE = 0.999
"""Of a draw so many may survive as come, with this certainty, from a whole of which the least share dies."""


class TriedMutant(Strict):
    """One mutant and what became of it."""

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
    """The task and the check, or the unit test, that noticed it; of an equivalent, the reason."""


class MutantReport(Strict):
    """All mutants of a run, as `harness verify --mutants --json` prints them."""

    mutants: tuple[TriedMutant, ...]
    seconds: float
    drawn: bool = False
    """Whether these are only some of all, by a draw."""

    def of(self, *fates: Fate) -> list[TriedMutant]:
        """Those that ended so."""
        return [mutant for mutant in self.mutants if mutant.fate in fates]

    @property
    def share(self) -> float:
        """How many of those that are not equivalent died; 1 where there are none."""
        dead, alive = len(self.of(*DEAD)), len(self.of(*ALIVE))
        return dead / (dead + alive) if dead + alive else 1.0

    @property
    def allowed(self) -> int:
        """How many may survive."""
        tried = len(self.mutants) - len(self.of("equivalent"))
        return _drawn(tried) if self.drawn else int(tried * (1 - LEAST) + 1e-9)

    @property
    def rules_alive(self) -> list[TriedMutant]:
        """Survivors in a task's server, where its rules are: each must be noticed, or be listed with a reason."""
        return [mutant for mutant in self.of(*ALIVE) if mutant.kind == "server"]

    @property
    def ok(self) -> bool:
        """True if no rule's mutant survived, and enough of the others died."""
        return not self.rules_alive and len(self.of(*ALIVE)) <= self.allowed

    def rows(self) -> Iterator[tuple[str | int, ...]]:
        """By kind of file and together: how many mutants, and of each fate."""
        for kind in (*sorted({mutant.kind for mutant in self.mutants}), "all"):
            fates = [mutant.fate for mutant in self.mutants if kind in (mutant.kind, "all")]
            yield kind, len(fates), *(fates.count(fate) for fate in FATES)


def _drawn(count: int) -> int:
    """The most survivors of a draw that do not show that of all too few die."""
    total, chance = 0.0, 1 - LEAST
    for alive in range(count + 1):
        total += comb(count, alive) * chance**alive * LEAST ** (count - alive)
        if total >= SURE:
            return alive
    return count


_SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None

FEW = 2
"""How many tasks prove a mutant of a shared room before the unit tests do; what shows in one mostly shows in all, and a proof
of thirty costs more than the tests."""

Progress = Callable[[str], None]


class Trying(NamedTuple):
    """A mutant on its way, with the tasks whose proof runs its line."""

    mutant: SourceMutant
    target: MutatedFile
    grounds: Sequence[Ground]


Told = tuple[Trying, Fate, str]
"""A mutant, what became of it, and who noticed it."""


def settle(trying: Sequence[Trying], workers: int, progress: Progress) -> Iterator[Told]:
    """Each mutant with its fate. Raises TaskInvalid where the unit tests fail without any change."""
    # in the order of a draw, so that what is seen of a run at any time is a fair sample of it
    alive = sorted(trying, key=lambda one: one.mutant.lot)
    with tempfile.TemporaryDirectory(prefix="parley-mutants-", dir=os.environ.get("TMPDIR", _SCRATCH)) as scratch:
        rounds = _Rounds(Path(scratch), workers, progress)
        alive = yield from rounds.held(alive, "died", _by_proof, lambda one: bool(one.grounds))
        shared = [one for one in alive if one.target.task is None]
        units = rounds.surveyed(shared)
        shared = yield from rounds.held(
            shared, "unit-tests", partial(_by_units, units), lambda one: bool(units.reaching(one.mutant, one.target))
        )
        last = yield from rounds.held(shared, "died", _by_more, _has_more)
    for one in [*(one for one in alive if one.target.task), *last]:
        reached = one.grounds or units.reaching(one.mutant, one.target)
        progress(f"{one.mutant.id} {'survived' if reached else 'unreached'}")
        yield one, "survived" if reached else "unreached", ""


class _Rounds:
    """One round after another over what is left."""

    def __init__(self, scratch: Path, workers: int, progress: Progress) -> None:
        self._scratch, self._workers, self._progress = scratch, workers, progress

    def held(
        self, trying: Sequence[Trying], fate: Fate, work: Callable[[Trying, Path], str], able: Callable[[Trying], bool]
    ) -> Generator[Told, None, list[Trying]]:
        """Try what this round can say something of; yields what was noticed, and returns the rest."""
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
                    self._progress(f"{done} of {len(jobs)} by {fate}, {len(left)} not noticed")
        return left

    def surveyed(self, shared: Sequence[Trying]) -> UnitTests:
        """What unit tests run of these mutants' files, where this is a checkout that has them."""
        targets = list(dict.fromkeys(one.target for one in shared))
        if not targets or not (ROOT / "tests").is_dir():
            return UnitTests()
        with closing(each_in_a_copy([targets], surveyed_units, 1)) as copies:
            units = next(copies)[1]
        if units is None or units.failing:
            what = units.failing[0] if units else "they did not come to an end"
            raise TaskInvalid(f"{ROOT}/tests:1: the unit tests fail as they are ({what})", hint="make test")
        self._progress(f"{len(units.seconds)} unit tests")
        return units


def _in_scratch(scratch: Path, work: Callable[[Trying, Path], str], one: Trying) -> str:
    folder = _folder(scratch, one)
    folder.mkdir()
    # what judges keep for a moment goes with the folder, whatever becomes of this copy
    os.environ["TMPDIR"], tempfile.tempdir = str(folder), None
    try:
        return work(one, folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a changed file that cannot be imported at all
        return f"{type(error).__name__}: {error}".splitlines()[0]


def _folder(scratch: Path, one: Trying) -> Path:
    return scratch / hashlib.sha256(one.mutant.id.encode()).hexdigest()[:24]


def _by_proof(one: Trying, folder: Path) -> str:
    asked = first_asked(one)
    games = all(ground.task.is_seated for ground in asked)
    return tried(one.mutant, one.target, asked, folder, STAGES if one.target.task else () if games else STAGES[:1])


def _by_more(one: Trying, folder: Path) -> str:
    return tried(one.mutant, one.target, one.grounds, folder, [slice(0, 3), *STAGES[2:]])


def first_asked(one: Trying) -> Sequence[Ground]:
    """The tasks of the first round, the quickest ones."""
    return one.grounds[:FEW]


def _has_more(one: Trying) -> bool:
    """Whether the last round has a task or a seed that the first had not."""
    several = len(first_asked(one)) < len(one.grounds) or any(len(ground.seeds()) > 1 for ground in one.grounds)
    return several or any(ground.task.is_seated for ground in one.grounds)


def _by_units(units: UnitTests, one: Trying, folder: Path) -> str:
    return noticed_by_units(one.mutant, one.target, units, folder)


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
