"""What authoring needs of one family, found by name: its labels, what a new task starts from, what is derived and proved.

A family that lacks a part has no such thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.authoring.findings import ProofCheck
from harness.authoring.plays import TaskEvidence
from harness.authoring.templates import Files
from harness.authoring.templates import family as template
from harness.modules import family_part_or_none
from harness.registry import Task
from worlds.core.parts import part


def labels_of(family: str) -> frozenset[str]:
    """The labels that a failed episode of a family can earn."""
    module = part("worlds", family, "labels")
    return frozenset(map(str, module.Label)) - {"SUCCESS"} if module else frozenset()


def claimed_of(family: str) -> dict[str, str]:
    """The hidden tests that a family gives all its tasks, each with the module that has it."""
    module = part("validators", family, "claims")
    return {name: module.__name__ for name in vars(module) if name.startswith("test_")} if module else {}


def derived(family: str, folder: Path) -> Files:
    """What a family works out from a task's own files: certificate and plan; nothing where its tasks are code."""
    module = family_part_or_none(family, "authoring.derived")
    files: Files = module.derived(folder) if module else {}
    return files


def claims(task: Task) -> list[ProofCheck]:
    """What a family claims of a task besides its episodes; nothing where it has no such claims."""
    module = family_part_or_none(task.family, "authoring.claims")
    return list(module.claims(task)) if module else []


def unsolvable(task: Task) -> str | None:
    """Why no client of a task can succeed, where its family knows that; None where one can."""
    module = family_part_or_none(task.family, "authoring.solvable")
    why: str | None = module.unsolvable(task) if module else None
    return why


def checks(evidence: TaskEvidence) -> Iterator[ProofCheck]:
    """What a family asks of the episodes that were played besides what every task is asked."""
    module = family_part_or_none(evidence.task.family, "authoring.checks")
    yield from module.checks(evidence) if module else ()


def starter(family: str, name: str) -> Files:
    """The author's files of a new task: what the family draws for its name, else its template's skeleton."""
    module = family_part_or_none(family, "authoring.skeleton")
    files: Files = module.skeleton(name) if module else template(family).skeleton(name)
    return files
