"""Whether a row may be ranked: every task of the release, every planned seed, as many graded attempts as planned.

The release is the pinned list of `harness.release`, whatever lies in the tasks folder of whoever reports. Where no run played a
task of it - a family or a suite of one's own - what the registry holds stands in its place, or what all the runs together
planned. Tasks beyond that make another suite, and a row on another suite is not ranked; tasks that somebody added stand in a
table of their own (`Evidence.split`). A task that was played in another version is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.release import pinned_tasks
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
    """Tasks that were played with another digest than the release, or the registry, has."""

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
    digests = wanted_tasks(evidence)
    wanted = set(digests)
    cells, seeds = group.cells, group.seeds
    done = [task for task in wanted if all(len(cells.get((task, seed), ())) >= group.attempts for seed in seeds)]
    changed = [task for plan in group.plans for task, digest in plan.tasks.items() if (digests.get(task) or digest) != digest]
    others = {*group.planned, *group.tasks} - wanted
    return Status(len(done), len(wanted), len(others), tuple(dict.fromkeys(changed)))


def wanted_tasks(evidence: Evidence) -> Mapping[str, str]:
    """The tasks that complete means, with their digests; "" for the digest of a task that is only known by its runs."""
    played = {task for one in evidence.groups for task in (*one.planned, *one.tasks)}
    pinned = pinned_tasks(evidence.family)
    if played & set(pinned):
        return pinned
    if evidence.registry:
        return {name: task.digest for name, task in evidence.registry.items()}
    return {task: "" for one in evidence.groups for task in one.planned}
