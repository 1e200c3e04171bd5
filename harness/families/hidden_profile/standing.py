"""What may share a row: whose work a task is, and whether anything is proved of it.

Certified tasks of the suite, imported and generated ones never share a row, since what they measure was not shown to be the
same (findings, 4.2). An episode's verdict says both. One that was never judged takes what is said of its task by another
episode, else by the task's own folder, else it counts among the suite's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.families.hidden_profile.authoring.derived import CERTIFICATE
from harness.records import Result
from harness.registry import Task
from harness.report.evidence import Evidence
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import read_task

OWN = ""
"""Certified, and the suite's own: what is said of nothing else."""

NOTE = (
    "uncertified: nothing proves that the key follows from the facts, nor that no hand gives it away; imported, generated and "
    "uncertified tasks have rows of their own"
)
"""Stands under each table with such rows."""


def notes(words: Iterable[str]) -> tuple[str, ...]:
    """The note of a table over tasks of these standings."""
    return (NOTE,) if any(words) else ()


def named(whose: str | None, *, certified: bool) -> str:
    """`imported, uncertified`, and so on; nothing for what is the suite's own and certified."""
    parts = (whose if whose in {"imported", "generated"} else "", "" if certified else "uncertified")
    return ", ".join(part for part in parts if part)


def of_result(result: Result) -> str | None:
    """The standing of an episode's task, as its verdict has it; None where that does not say."""
    certified = result.metrics.get("certified")
    return None if certified is None else named(result.metrics.get("whose"), certified=bool(certified))


def of_task(task: Task) -> str:
    """The standing of a task, as its folder has it."""
    try:
        whose = read_task(task.world_folder / SCENARIO).whose
        proved = Certificate.model_validate_json((task.path / CERTIFICATE).read_bytes())
    except (OSError, ValueError):
        return OWN
    return named(whose, certified=proved.certified)


def by_task(evidence: Evidence) -> Mapping[str, str]:
    """The standing of each task of some evidence that is not the suite's own and certified."""
    told: dict[str, str] = {}
    for group in evidence.groups:
        for result in group.graded:
            word = of_result(result)
            if word is not None:
                told.setdefault(result.task_id, word)
    played = {result.task_id for group in evidence.groups for result in (*group.graded, *group.ungraded)}
    for task in played - told.keys():
        if task in evidence.registry:
            told[task] = of_task(evidence.registry[task])
    return {task: word for task, word in told.items() if word != OWN}
