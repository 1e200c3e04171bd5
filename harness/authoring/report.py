"""What a proof found, as data: one check per claim and seed, each failed one with the place to go to.

The JSON of a `Report` is what `harness verify --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from harness.authoring.findings import Finding, Place


class Record(BaseModel):
    """Frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(Record):
    """One claim about a task, on one seed where it has one."""

    name: str
    seed: int | None = None
    ok: bool
    detail: str = ""
    findings: tuple[Finding, ...] = ()


class ProvedClient(Record):
    """What one client left on one seed, and the label that its folder says it must earn."""

    player: str
    seed: int
    label: str
    trace_hash: str


class Proved(Record):
    """One task proved by its own code: every check of that, and the clients that pods can play again."""

    task_id: str
    checks: tuple[Check, ...]
    clients: tuple[ProvedClient, ...]
    seconds: float


class TaskProof(Record):
    """Every check of one task."""

    task_id: str
    ok: bool
    seconds: float
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.ok)


class Report(Record):
    """Every task's proof; `shared` are findings in the code of all worlds."""

    ok: bool
    seconds: float
    tasks: tuple[TaskProof, ...]
    shared: tuple[Finding, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Every finding once, in the order of the tasks; the same place and words on several seeds are one."""
        told = [*self.shared, *(finding for task in self.tasks for check in task.checks for finding in check.findings)]
        yield from dict.fromkeys(told)


def passed(name: str, seed: int | None = None, detail: str = "") -> Check:
    """A check that holds."""
    return Check(name=name, seed=seed, ok=True, detail=detail)


def failed(name: str, seed: int | None, at: Place, detail: str) -> Check:
    """A check that does not hold, and where to look."""
    return Check(name=name, seed=seed, ok=False, detail=detail, findings=(at.finding(name, detail),))


def listed(name: str, findings: list[Finding]) -> Check:
    """A check that holds when there is nothing to find."""
    detail = "; ".join(str(finding) for finding in findings[:3]) + (
        f"; and {len(findings) - 3} more" if len(findings) > 3 else ""
    )
    return Check(name=name, ok=not findings, detail=detail, findings=tuple(findings))


def proof(task_id: str, seconds: float, checks: list[Check]) -> TaskProof:
    """A task is proved when every check holds."""
    return TaskProof(task_id=task_id, ok=all(check.ok for check in checks), seconds=round(seconds, 3), checks=tuple(checks))
