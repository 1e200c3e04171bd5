"""Attack 13: the two ends of the scale, each reached twice with equal results, whenever and wherever the grading happens.

Nobody attacks here. An attack says little about a folder in which doing nothing earns something, or the right work nothing.
1. nop and the oracle are played twice each.
2. The oracle's evidence is graded once more, with the verifier's clock a year ahead and, where it had one, without a network.
   Where that comes out differently, it is graded as before and then with each change alone, so that the hole names its cause.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

from harness.attacks.base import Exam, Flaw, Reason, Scope
from harness.attacks.grading import YEAR_DAYS, a_year_later, begun_on, with_verifier
from harness.attacks.target import Target
from harness.errors import RuntimeFailure, VerifierFailure
from harness.play.outcome import Outcome
from harness.registry import Task

_SLACK_DAYS = 2
"""Between zones and over midnight the date may differ so much."""


class FloorAndCeiling:
    """nop earns 0 and the oracle 1, again and again, also in a year and without a network."""

    number: ClassVar[int] = 13
    name: ClassVar[str] = "floor and ceiling"
    scope: ClassVar[Scope] = "folder"
    flaw: ClassVar[Flaw] = Flaw(abc=("T.1", "T.3", "T.4", "T.6", "T.8", "T.9"))

    def inapplicable(self, target: Target) -> Reason | None:
        """It always applies."""
        return None

    def strike(self, target: Target) -> Exam:
        """Play both ends twice, then grade the right work again."""
        exam, outcomes = Exam(), {}
        for who, once, again, wanted in (
            ("nop", target.idle, target.nop, 0.0),
            ("oracle", target.oracle, target.oracle, 1.0),
        ):
            first, second = once(), again()
            exam.look(_wrong(who, first, wanted))
            exam.look(_wrong(who, second, wanted), None if _same(first, second) else f"{who} ended in two different ways")
            outcomes[who] = second
        if not exam.holes:
            _grade_again(target, outcomes["oracle"], exam)
        return exam


def _grade_again(target: Target, played: Outcome, exam: Exam) -> None:
    task, later = target.task, a_year_later(target.task)
    online = target.foreign and not target.shares_verifier and task.file.verifier.network_mode != "no-network"
    changes = {"a year later": later}
    if online:
        changes["without a network"] = with_verifier(task, network_mode="no-network")
    elif target.shares_verifier:
        exam.notes.append("the verifier shares the agent's machine and its network: it was not graded without one")
    everything = with_verifier(later, network_mode="no-network") if online else later
    if (together := _differs(target, everything, played)) is None:
        exam.look(*[None] * len(changes))
        return
    for how, changed in {"again": task, **changes}.items():
        differs = _differs(target, changed, played)
        exam.look(f"graded {how}, the right work {differs}" if differs else None)
    if not exam.holes:
        exam.look(f"graded {' and '.join(changes)}, the right work {together}")


def _differs(target: Target, changed: Task, played: Outcome) -> str | None:
    """How the right work fares under a changed verifier, where that is otherwise than before; raises RuntimeFailure.

    Where there is a log it is the evidence, and graded again. A foreign task has none, and is played again.
    """
    if target.foreign:
        outcome = target.oracle(task=changed)
        output, problem = outcome.files.get("verifier.log", b""), _wrong("oracle", outcome, played.result.reward or 0.0)
    else:
        try:
            judgement = target.runtime.judge(target.spec(0, changed, hands=False), played.files["events.jsonl"])
        except VerifierFailure as failure:
            return f"is not graded: {failure}"
        output = judgement.log
        equal = (judgement.reward, judgement.verdict) == (played.files["reward.json"], played.files["verdict.json"])
        problem = None if equal else f"earns another verdict: {judgement.reward.decode('utf-8', 'replace').strip()}"
    if problem is None and "BASH_ENV" in changed.file.verifier.env:
        wanted, begun = datetime.now(UTC).date() + timedelta(days=YEAR_DAYS - _SLACK_DAYS), begun_on(output)
        if begun is None or begun < wanted:
            raise RuntimeFailure(f"the verifier's clock could not be turned: its tests began on {begun or 'no known date'}")
    return problem


def _wrong(who: str, outcome: Outcome, wanted: float) -> str | None:
    result = outcome.result
    if result.status != "graded":
        return f"{who} was not graded, because of the {result.cause}: {result.error}"
    return None if result.reward == wanted else f"{who} earns {result.reward:g}, not {wanted:g}"


def _same(first: Outcome, second: Outcome) -> bool:
    a, b = first.result, second.result
    return (a.status, a.reward, a.failure_label, a.trace_hash) == (b.status, b.reward, b.failure_label, b.trace_hash)
