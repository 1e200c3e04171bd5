"""What the attacks found, as data: one row for each attack on each folder.

The JSON of a `Siege` is what `harness verify --attacks --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from worlds.core.models import Strict

Outcome = Literal["held", "broken", "n/a", "vacuous", "error"]
"""`vacuous`: it examined nothing and gave no reason; `error`: it could not be carried out. Neither is a pass."""


class AttackRow(Strict):
    """One attack on one folder, or on the machine that several folders share."""

    attack: int
    name: str
    scope: Literal["machine", "folder"]
    task_id: str
    shared_by: int = 1
    """How many of the folders have the machine that was struck at."""

    benchjack: tuple[str, ...] = ()
    abc: tuple[str, ...] = ()
    openenv: tuple[str, ...] = ()
    outcome: Outcome
    examined: int = 0
    holes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    """Why an attack is n/a, or what kept it from being carried out."""

    hint: str = ""
    """The next command to type where it was not carried out."""

    seconds: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether this row is nothing to worry about."""
        return self.outcome in {"held", "n/a"}


class Siege(Strict):
    """Every attack on every folder."""

    ok: bool
    seconds: float
    runtime: str
    rows: tuple[AttackRow, ...]

    def of(self, outcome: Outcome) -> list[AttackRow]:
        """The rows with one outcome."""
        return [row for row in self.rows if row.outcome == outcome]

    @property
    def unmade(self) -> list[AttackRow]:
        """The rows of attacks that could not be carried out, or examined nothing."""
        return [row for row in self.rows if not row.passes and row.outcome != "broken"]

    def told(self) -> str:
        """What came of the attacks in one sentence, which begins with those that could not be made."""
        unmade, all_rows = len(self.unmade), len(self.rows)
        succeeded = f"{len(self.of('broken'))} of {all_rows - unmade} attacks succeeded"
        where = f"in {self.runtime}, {self.seconds:.1f} s"
        if not unmade:
            return f"{succeeded} {where}"
        rest = f"; of the others, {succeeded}" if unmade < all_rows else ""
        return f"{unmade} of {all_rows} attacks could not be made{rest} {where}"

    def summary(self) -> Iterator[tuple[str, ...]]:
        """One line an attack, over all folders: number, name, ids, things examined, and counts of outcomes."""
        for number, name in sorted({(row.attack, row.name) for row in self.rows}):
            rows = [row for row in self.rows if (row.attack, row.name) == (number, name)]
            ids = " ".join((*rows[0].benchjack, *rows[0].abc, *rows[0].openenv))
            examined = sum(row.examined for row in rows)
            yield str(number), name, ids, str(len(rows)), str(examined), _counts(rows)


def _counts(rows: Sequence[AttackRow]) -> str:
    counted = {
        outcome: sum(row.outcome == outcome for row in rows) for outcome in ("broken", "vacuous", "error", "held", "n/a")
    }
    return ", ".join(f"{count} {outcome}" for outcome, count in counted.items() if count)
