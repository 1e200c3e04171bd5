"""What a mutant goes through until something notices it, each time in a copy of its own.

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
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness.authoring.mutants.copies import each_in_a_copy
from harness.authoring.mutants.ground import Ground
from harness.authoring.mutants.mutation import SourceMutant
from harness.authoring.mutants.report import Fate
from harness.authoring.mutants.targets import ROOT, MutatedFile
from harness.authoring.mutants.trial import STAGES, tried
from harness.authoring.mutants.units import UnitTests, noticed_by_units, surveyed_units
from harness.errors import TaskInvalid

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
