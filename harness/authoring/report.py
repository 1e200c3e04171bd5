"""What a proof found, as data: one check per claim and seed, each failed one with the place to go to.

The JSON of a `ProofReport` is what `harness verify --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.authoring.findings import Finding, Place
from worlds.core.models import Strict

UNCERTIFIED = "uncertified"
"""The check that a family passes for a task of which it proves nothing; its detail says what is missing, and why."""


class ProofCheck(Strict):
    """One claim about a task, on one seed where it has one."""

    name: str
    seed: int | None = None
    ok: bool
    detail: str = ""
    findings: tuple[Finding, ...] = ()


class ProvedClient(Strict):
    """What one client left on one seed, and the label that its folder says it must earn."""

    player: str
    seed: int
    label: str
    trace_hash: str


class Proved(Strict):
    """One task proved by its own code: every check of that, and the clients that pods can play again."""

    task_id: str
    checks: tuple[ProofCheck, ...]
    clients: tuple[ProvedClient, ...]
    seconds: float


class TaskProof(Strict):
    """Every check of one task."""

    task_id: str
    ok: bool
    seconds: float
    checks: tuple[ProofCheck, ...]

    @property
    def failed(self) -> tuple[ProofCheck, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def missing(self) -> str | None:
        """What cannot be proved of the task, and why; None where its proof is whole."""
        return next((check.detail for check in self.checks if check.name == UNCERTIFIED and check.ok), None)

    @property
    def verdict(self) -> str:
        """What came of it, in a word."""
        return "FAILED" if not self.ok else "ok" if self.missing is None else UNCERTIFIED


class ProofReport(Strict):
    """Every task's proof; `shared` are findings in the code of all worlds."""

    ok: bool
    seconds: float
    tasks: tuple[TaskProof, ...]
    shared: tuple[Finding, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Every finding once, in the order of the tasks; the same place and words on several seeds are one."""
        told = [*self.shared, *(finding for task in self.tasks for check in task.checks for finding in check.findings)]
        yield from dict.fromkeys(told)


def passed(name: str, seed: int | None = None, detail: str = "") -> ProofCheck:
    """A check that holds."""
    return ProofCheck(name=name, seed=seed, ok=True, detail=detail)


def failed(name: str, seed: int | None, at: Place, detail: str) -> ProofCheck:
    """A check that does not hold, and where to look."""
    return ProofCheck(name=name, seed=seed, ok=False, detail=detail, findings=(at.finding(name, detail),))


def listed(name: str, findings: list[Finding]) -> ProofCheck:
    """A check that holds when there is nothing to find."""
    detail = "; ".join(str(finding) for finding in findings[:3]) + (
        f"; and {len(findings) - 3} more" if len(findings) > 3 else ""
    )
    return ProofCheck(name=name, ok=not findings, detail=detail, findings=tuple(findings))


def proof(task_id: str, seconds: float, checks: list[ProofCheck]) -> TaskProof:
    """A task is proved when every check holds."""
    return TaskProof(task_id=task_id, ok=all(check.ok for check in checks), seconds=round(seconds, 3), checks=tuple(checks))
