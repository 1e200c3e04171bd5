"""What authoring needs of one family, found by name: its verdicts' labels, what a new task starts from, what is derived.

A family that lacks a part has no such thing; nothing lists families.
"""

from __future__ import annotations

from pathlib import Path

from harness.authoring.report import Check
from harness.authoring.templates import Files
from harness.authoring.templates import family as template
from harness.modules import module_or_none
from harness.registry import Task


def labels_of(family: str) -> frozenset[str]:
    """The labels that a failed episode of a family can earn."""
    module = module_or_none(f"worlds.{_package(family)}.labels")
    return frozenset(map(str, module.Label)) - {"SUCCESS"} if module else frozenset()


def derived(family: str, folder: Path) -> Files:
    """What a family works out from a task's own files: certificate and plan; nothing where its tasks are code."""
    module = module_or_none(f"harness.authoring.{_package(family)}.derived")
    found: Files = module.derived(folder) if module else {}
    return found


def claims(task: Task) -> list[Check]:
    """What a family claims of a task besides its episodes; nothing where it has no such claims."""
    module = module_or_none(f"harness.authoring.{_package(task.family)}.claims")
    return list(module.claims(task)) if module else []


def starter(family: str, name: str) -> Files:
    """The author's files of a new task: what the family draws for its name, else its template's skeleton."""
    module = module_or_none(f"harness.authoring.{_package(family)}.skeleton")
    found: Files = module.skeleton(name) if module else template(family).skeleton(name)
    return found


def _package(family: str) -> str:
    return family.replace("-", "_")
