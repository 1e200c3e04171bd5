"""Who played, over all conditions: runs of one player that differ in nothing but the condition stand in one row.

1. An arm is a setup without its condition and its kind of deals. Ypre and Ypost are of its sessions in `hidden`, Yfull of those
   in `full`, the floor of those in `shared_only`; no session is in two of them. All of these are of hidden deals; manifest
   deals, in which the option that all speak for is right, are counted apart.
2. Tasks of the suite, imported and generated ones, certified or not, are arms of their own (`standing`).
3. A session is one graded episode. One that broke off before a vote has no such vote, which counts as wrong for every seat.

What may share a row: whose work a task is, and whether anything is proved of it.

Certified tasks of the suite, imported and generated ones never share a row, since what they measure was not shown to be the
same (findings, 4.2). An episode's verdict says both. One that was never judged takes what is said of its task by another
episode, else by the task's own folder, else it counts among the suite's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.families.hidden_profile.authoring.derived import CERTIFICATE
from harness.records import Result
from harness.registry import Task
from harness.report.evidence import Evidence, Group
from harness.report.models import ModelEntry
from worlds.core.chance import PUBLISHED_KEY, key_digest
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


def standing_notes(words: Iterable[str]) -> tuple[str, ...]:
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


CONDITIONS = ("hidden", "full", "shared_only")
HIDDEN, MANIFEST = "hidden", "manifest"
"""Kinds of deals."""

RULES = ("average", "majority")
"""How a session's votes make one figure (specification, 1.3): the share of right ones, or whether more than half are."""

Tasks = Mapping[str, Sequence[Result]]
"""The sessions of each task."""


@dataclass
class Arm:
    """One player under one set-up, in every condition that it was played in."""

    title: str
    setup: str
    """What is not the default, the condition and the variant left out; before it the standing of its tasks."""

    variant: str
    entry: ModelEntry | None
    fine: tuple[str, ...]
    standing: str = OWN
    groups: list[Group] = field(default_factory=list)

    @property
    def how(self) -> str | None:
        """The set-up with its variant, as a cell; None for the default."""
        return (
            ", ".join(part for part in (self.setup, f"variant={self.variant}" if self.variant != "none" else "") if part)
            or None
        )

    @property
    def is_public(self) -> bool:
        """Whether any of its sessions was drawn with the published key."""
        return any(result.key_digest == key_digest(PUBLISHED_KEY) for group in self.groups for result in group.graded)

    def tasks(self, condition: str, deal: str = HIDDEN) -> dict[str, list[Result]]:
        """The sessions of each task in one condition, with one kind of deals."""
        by_task: dict[str, list[Result]] = {}
        for group in self.groups:
            for result in group.graded:
                if condition_of(result) == condition and deal_of(result) == deal:
                    by_task.setdefault(result.task_id, []).append(result)
        return by_task

    @property
    def ungraded(self) -> int:
        """Episodes that failed by no fault of the player, over all conditions."""
        return sum(len(group.ungraded) for group in self.groups)


def arms(evidence: Evidence) -> list[Arm]:
    """The arms of a report, in the order in which they were read."""
    by_setup: dict[tuple[Any, ...], Arm] = {}
    standings = by_task(evidence)
    for group in evidence.played:
        setup = group.setup
        how = [word for word in setup.how if not word.startswith(("condition=", "deal=", "variant="))]
        variant = next((word.removeprefix("variant=") for word in setup.how if word.startswith("variant=")), "none")
        for standing, part in _by_standing(group, standings):
            key = (setup.agent, setup.model, tuple(how), variant, setup.fine, standing)
            said = ", ".join([standing, *how] if standing else how)
            arm = by_setup.setdefault(key, Arm(group.title, said, variant, group.entry, setup.fine, standing))
            arm.groups.append(part)
    _tell_apart(list(by_setup.values()))
    return list(by_setup.values())


def _by_standing(group: Group, standings: Mapping[str, str]) -> Iterator[tuple[str, Group]]:
    """A group's sessions by the standing of their tasks."""
    tasks = dict.fromkeys(result.task_id for result in (*group.graded, *group.ungraded))
    by_word: dict[str, list[str]] = {}
    for task in tasks:
        by_word.setdefault(standings.get(task, OWN), []).append(task)
    for word, mine in by_word.items():
        yield word, group if len(by_word) == 1 else group.only(mine)


def condition_of(result: Result) -> str:
    """The condition of an episode, as its verdict has it; where the verdict has none, the one that was asked for."""
    return str(result.metrics.get("condition") or result.options.get("condition", CONDITIONS[0]))


def deal_of(result: Result) -> str:
    """The kind of an episode's deal; of a task that has one deal only, it is a hidden one."""
    return str(result.metrics.get("deal") or HIDDEN)


def accuracy(result: Result, when: str, rule: str) -> float:
    """A session's accuracy `before` or `after` the talk by the `average` or `majority` rule, 0 to 1; 0 without such a vote."""
    vote = (result.metrics.get("votes") or {}).get(when)
    return float(vote[rule]) if vote else 0.0


def votes(result: Result, when: str) -> tuple[int, int]:
    """Right and wrong votes `before` or `after` the talk; seats whose vote was never held are wrong."""
    seats = len(result.metrics.get("seats") or ())
    right = round(accuracy(result, when, "average") * seats)
    return right, seats - right


def _tell_apart(known_arms: Sequence[Arm]) -> None:
    """Add the less important settings to the set-up of arms that would otherwise be shown under the same name."""
    names = [(arm.title, arm.setup, arm.variant) for arm in known_arms]
    for arm, name in zip(known_arms, names, strict=True):
        if names.count(name) > 1:
            arm.setup = ", ".join(part for part in (arm.setup, *arm.fine) if part)
