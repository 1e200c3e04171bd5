"""What contract tasks are asked besides: times that are told truly, and Proposition 1 of the paper, task by task.

Proposition 1: validity and integrity fail apart, and together. A task that hands out artifacts with a window names three of its
violations in CELLS:
`validity`   the right bytes too late: a validity label, and no integrity failure beside it (`also` is empty);
`integrity`  the wrong bytes in time: an integrity label;
`both`       wrong and too late: validity is judged first (Appendix F), and `also` names the integrity label.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.agents.solutions import declared
from harness.authoring.evidence import TaskEvidence
from harness.authoring.findings import definition
from harness.authoring.plays import SOLVE, Play
from harness.authoring.report import ProofCheck, failed, passed
from harness.families.contract.authoring import deadlines
from validators.verdict import Verdict
from worlds.contract.labels import LABELS, Axis, Label
from worlds.core.events import Requested

CELLS = {"validity": (Axis.VALIDITY, None), "integrity": (Axis.INTEGRITY, None), "both": (Axis.VALIDITY, Axis.INTEGRITY)}
"""The axis that each cell fails on, and the one that it fails on as well."""


def checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """The times that are told, and the three cells, for a task that declares them or hands out artifacts."""
    yield from deadlines.checks(evidence)
    named = declared(evidence.task, "CELLS")
    table = definition(evidence.task.path / "solution" / "violations.py", "CELLS")
    if not named and not any(_issues(played) for played in evidence.of(SOLVE)):
        return
    for cell in CELLS:
        name, check = named.get(cell), f"cell:{cell}"
        if name is None:
            yield failed(check, None, table, f"CELLS must name a violation for {cell}: this world issues artifacts")
        elif name not in evidence.violations:
            yield failed(check, None, table, f"CELLS names {name!r}, which is no violation of this task")
        for played in evidence.of(name or ""):
            wrong = _wrong_in_cell(cell, played.outcome)
            yield (
                failed(check, played.seed, evidence.place(played.player), wrong)
                if wrong
                else passed(check, played.seed, played.player)
            )


def _issues(played: Play) -> bool:
    return any(isinstance(event, Requested) and event.issued for event in played.events)


def _wrong_in_cell(cell: str, verdict: Verdict) -> str | None:
    """Why an episode does not fill its cell, or None when it does."""
    worst = next((broken for broken in verdict.violations if broken.label == verdict.failure_label), None)
    if worst is None:
        return f"broke no rule, and ended as {verdict.failure_label}"
    axes = _axis(worst.label), _axis(worst.also)
    told = worst.label + (f", also {worst.also}" if worst.also else "")
    return None if axes == CELLS[cell] else f"must fail in {_words(*CELLS[cell])}, not in {_words(*axes)} ({told})"


def _axis(label: str | None) -> Axis | None:
    return LABELS[Label(label)].axis if label is not None else None


def _words(axis: Axis | None, also: Axis | None) -> str:
    return f"{axis} and {also}" if also else f"{axis} alone"
