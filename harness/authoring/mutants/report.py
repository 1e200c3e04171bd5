"""What became of each mutant, as data; its JSON is what `harness verify --mutants --json` prints."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Literal, get_args

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
    """All mutants of a run."""

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
