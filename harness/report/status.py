"""Whether a row may be ranked: every task of the family, every planned seed, as many graded attempts as planned.

The family is what the registry holds today of its suite; where there is no registry, what all the runs together planned. Tasks
that the registry lacks make another suite, and a row on another suite is not ranked either; tasks that somebody added stand in
a table of their own (`Evidence.split`). A task that has changed since it was played is named.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.evidence import Evidence, Group


@dataclass(frozen=True)
class Status:
    """How much of the family a group has covered."""

    done: int
    """Tasks with all their attempts."""

    wanted: int
    others: int
    """Tasks that the family does not have."""

    changed: tuple[str, ...]
    """Tasks whose folder has another digest than the one that was played."""

    @property
    def complete(self) -> bool:
        """Whether the row may be ranked."""
        return self.done == self.wanted and not self.others

    @property
    def text(self) -> str:
        """`complete`, or how far it got."""
        if self.complete:
            return "complete"
        return f"{self.done} of {self.wanted} tasks" + (f" and {self.others} other" if self.others else "")


def status(group: Group, evidence: Evidence) -> Status:
    """How much of the family a group has covered."""
    wanted = set(evidence.registry) or {task for one in evidence.groups for task in one.planned}
    cells, seeds = group.cells, group.seeds
    done = [task for task in wanted if all(len(cells.get((task, seed), ())) >= group.attempts for seed in seeds)]
    changed = [
        task
        for plan in group.plans
        for task, digest in plan.tasks.items()
        if task in evidence.registry and evidence.registry[task].digest != digest
    ]
    others = {*group.planned, *group.tasks} - wanted
    return Status(len(done), len(wanted), len(others), tuple(dict.fromkeys(changed)))
