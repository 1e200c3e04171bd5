"""An attack is a small class: what it is called, which flaw it looks for, where it does not apply, and how it strikes.

1. `machine` attacks strike what the stamped files of a folder make: they are the same for every folder with those files.
   `folder` attacks strike what is a folder's own.
2. An attack counts what it examined. One that examined nothing has failed, unless it says which `Reason` makes it inapplicable.
3. A `hole` is evidence that the attack succeeded. A `note` is worth telling and no hole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal, Protocol

from harness.attacks.target import Target

Scope = Literal["machine", "folder"]


class Reason(StrEnum):
    """Why an attack does not apply to a folder; the list is closed, so that nothing is waved through."""

    ONE_SEAT = "the task has one seat"
    NO_ARTIFACT = "the agent's machine hands in no file"
    NO_SERVICE = "no service runs beside the agent"
    NO_SOLUTION = "the folder has no solution"
    NO_SUBMISSION = "the task takes no submission over HTTP"
    OWN_VERIFIER = "the verifier runs on a machine of its own"
    OWN_IMAGE = "the folder adds nothing to the image of the agent's machine"
    NOT_CAPABLE = "this runtime cannot build the folder"


@dataclass(frozen=True)
class Flaw:
    """How others number what an attack looks for."""

    benchjack: tuple[str, ...] = ()
    """Classes V1 to V8 of BenchJack (arXiv 2605.12673)."""

    abc: tuple[str, ...] = ()
    """Items of the Agentic Benchmark Checklist (arXiv 2507.02825), T.1 to T.10."""

    openenv: tuple[str, ...] = ()
    """Check ids of OpenEnv's validation policy, where there is one."""


@dataclass
class Exam:
    """What one attack examined on one folder, and what came of it."""

    examined: int = 0
    holes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def look(self, *holes: str | None) -> None:
        """Count one thing as examined; each text given is a hole in it."""
        self.examined += 1
        self.holes += [hole for hole in holes if hole]

    def add(self, others: Iterable[Exam]) -> Exam:
        """This one with all that others examined."""
        for other in others:
            self.examined += other.examined
            self.holes += other.holes
            self.notes += other.notes
        return self


class Attack(Protocol):
    """One attack of the list."""

    number: ClassVar[int]
    name: ClassVar[str]
    scope: ClassVar[Scope]
    flaw: ClassVar[Flaw]

    def inapplicable(self, target: Target) -> Reason | None:
        """Why it has nothing to strike at here; None unless an attack says."""
        return None

    def strike(self, target: Target) -> Exam:
        """Attack; raises BoundaryError where something other than the folder failed."""
        ...
