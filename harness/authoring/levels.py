"""Each level above the first is proved like the defaults: the oracle wins, nop earns nothing, every wrong client its label.

A level is evidence of a task that it makes, so the claims are those about every task; seeds are fewer (`Scope.leveled`).
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.authoring import checks, families
from harness.authoring.evidence import TaskEvidence
from harness.authoring.findings import Finding, Place
from harness.authoring.report import ProofCheck

_SETTINGS = (checks.oracle_checks, checks.nop_checks, checks.budget_checks)
"""Claims that a level breaks by what it changes; it is the place to go to."""

_CLIENTS = (checks.violation_checks, families.checks)
"""Claims that a client breaks which counts on a value of the first level."""


def level_checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """The claims about each level."""
    for level in evidence.task.parley.levels if evidence.task.parley else ():
        there, table = evidence.at(level), evidence.setting("levels", str(level))
        if there.plays:
            yield from (_of(level, check, table) for claim in _SETTINGS for check in claim(there))
            yield from (_of(level, check, None) for claim in _CLIENTS for check in claim(there))


def _of(level: int, check: ProofCheck, at: Place | None) -> ProofCheck:
    """A check that says at which level it was made, found at `at` where that is the place to go to."""
    name = f"level:{level}:{check.name}"
    where = f"at level {level}" + (f", seed {check.seed}" if check.seed is not None else "")
    findings = tuple(_moved(finding, at).model_copy(update={"rule": name}) for finding in check.findings)
    findings = tuple(one.model_copy(update={"message": f"{where}: {one.message}"}) for one in findings)
    return check.model_copy(update={"name": name, "findings": findings})


def _moved(finding: Finding, at: Place | None) -> Finding:
    return at.finding(finding.rule, finding.message) if at else finding
