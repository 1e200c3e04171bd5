"""Attack 13: the two ends of the scale, each reached twice with the same result.

Nobody attacks here. An attack says little about a folder in which doing nothing earns something, or the right work nothing.
"""

from __future__ import annotations

from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.target import Target
from harness.episode import Outcome


class FloorAndCeiling:
    """nop earns 0 and the oracle 1, again and again."""

    number: ClassVar[int] = 13
    name: ClassVar[str] = "floor and ceiling"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(abc=("T.4", "T.8", "T.9"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Play both ends twice."""
        exam = Exam()
        for who, play, wanted in (("nop", target.nop, 0.0), ("oracle", target.oracle, 1.0)):
            first, second = play(), play()
            exam.look(_wrong(who, first, wanted))
            exam.look(_wrong(who, second, wanted), None if _same(first, second) else f"{who} ended in two different ways")
        return exam


def _wrong(who: str, outcome: Outcome, wanted: float) -> str | None:
    result = outcome.result
    if result.status != "graded":
        return f"{who} was not graded, because of the {result.cause}: {result.error}"
    return None if result.reward == wanted else f"{who} earns {result.reward:g}, not {wanted:g}"


def _same(first: Outcome, second: Outcome) -> bool:
    a, b = first.result, second.result
    return (a.status, a.reward, a.failure_label, a.trace_hash) == (b.status, b.reward, b.failure_label, b.trace_hash)
