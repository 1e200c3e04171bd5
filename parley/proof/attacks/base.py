"""Interface of attacks: the name, the flaw that the attack looks for, when it does not apply, and the function that runs it.

1. `machine` attacks target the containers that the stamped files of a folder produce, which are the same for every folder with
   these files. `folder` attacks target a folder's own files.
2. An attack counts what it examined. If it examined nothing, it has failed, unless the folder lacks what the attack `needs`.
3. A `hole` is evidence that the attack succeeded. A `note` is worth reporting but not a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from parley.proof.attacks.target import Target
from worlds.core.models import Strict

Scope = Literal["machine", "folder"]
Outcome = Literal["held", "broken", "n/a", "vacuous", "error"]
"""`vacuous`: the attack examined nothing and gave no reason. `error`: it could not be carried out. Neither is a pass."""


class AttackRow(Strict):
    """Result of one attack on one folder, or on the kind of machine that several folders share."""

    attack: int
    name: str
    scope: Scope
    task_id: str
    shared_by: int = 1
    """Number of folders that share the attacked machine."""

    benchjack: tuple[str, ...] = ()
    abc: tuple[str, ...] = ()
    openenv: tuple[str, ...] = ()
    outcome: Outcome
    examined: int = 0
    holes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """The reason why an attack is n/a, or why it could not be carried out."""

    hint: str = ""
    """The next command to run if the attack could not be carried out."""

    seconds: float = 0.0

    @property
    def passes(self) -> bool:
        """True if the outcome needs no attention."""
        return self.outcome in {"held", "n/a"}


class AttackRun(Strict):
    """Results of all attacks on all folders, as printed by `harness verify --attacks --json`."""

    ok: bool
    seconds: float
    runtime: str
    rows: tuple[AttackRow, ...]

    def of(self, outcome: Outcome) -> list[AttackRow]:
        """Return the rows with this outcome."""
        return [row for row in self.rows if row.outcome == outcome]

    @property
    def unmade(self) -> list[AttackRow]:
        """The rows of attacks that could not be carried out or examined nothing."""
        return [row for row in self.rows if not row.passes and row.outcome != "broken"]

    def told(self) -> str:
        """Return a one-sentence summary, which starts with the attacks that could not be made."""
        unmade, all_rows = len(self.unmade), len(self.rows)
        succeeded = f"{len(self.of('broken'))} of {all_rows - unmade} attacks succeeded"
        where = f"in {self.runtime}, {self.seconds:.1f} s"
        if not unmade:
            return f"{succeeded} {where}"
        rest = f"; of the others, {succeeded}" if unmade < all_rows else ""
        return f"{unmade} of {all_rows} attacks could not be made{rest} {where}"

    def summary(self) -> Iterator[tuple[str, ...]]:
        """Yield one line per attack over all folders: number, name, ids, things examined, and counts of outcomes."""
        for number, name in sorted({(row.attack, row.name) for row in self.rows}):
            rows = [row for row in self.rows if (row.attack, row.name) == (number, name)]
            ids = " ".join((*rows[0].benchjack, *rows[0].abc, *rows[0].openenv))
            examined = sum(row.examined for row in rows)
            outcomes = [row.outcome for row in rows]
            kinds = ("broken", "vacuous", "error", "held", "n/a")
            counts = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in kinds if kind in outcomes)
            yield str(number), name, ids, str(len(rows)), str(examined), counts


@dataclass
class Exam:
    """Result of an attack on a folder: the number of things examined, the holes and the notes."""

    examined: int = 0
    holes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, *holes: str | None) -> None:
        """Count one thing as examined, and add each given text as a hole in it."""
        self.examined += 1
        self.holes += [hole for hole in holes if hole]

    def blame(self, what: str, *problems: str | None) -> None:
        """Count one thing as examined, and add each given problem as a hole in it."""
        self.look(*(f"{what}: {problem}" for problem in problems if problem))


@dataclass(frozen=True)
class Attack:
    """One attack, with the ids that other catalogues give to the flaw that it looks for."""

    number: int
    name: str
    scope: Scope
    strike: Callable[[Target], Exam]
    """Runs the attack. Raises BoundaryError if something other than the folder failed."""

    abc: tuple[str, ...]
    """Items of the Agentic Benchmark Checklist (arXiv 2507.02825), T.1 to T.10."""

    benchjack: tuple[str, ...]
    """Classes V1 to V8 of BenchJack (arXiv 2605.12673)."""

    needs: Callable[[Target], object] = lambda target: True
    """Property of a target that the attack requires."""

    lacking: str = "the agent's machine hands in no file"
    """The reason why the attack does not apply to a target without that property."""
