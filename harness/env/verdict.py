"""What an episode earned, for the team and seat by seat.

A family says what each seat earned in `harness.families.<family>.seat_rewards`: `seat_rewards(judged)`, one number from 0
to 1 for each seat. Where it does not, or the hidden tests have something against the log, each seat earns what the team does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.modules import family_part_or_none
from harness.play.outcome import Outcome
from harness.records import Result
from harness.registry import Task
from validators.verdict import Verdict


@dataclass(frozen=True)
class JudgedLog:
    """What a family makes the rewards of its seats from."""

    task: Task
    verdict: Verdict
    log: bytes
    """The event log, whole."""


@dataclass(frozen=True)
class EpisodeVerdict:
    """The verdict of the task's hidden tests."""

    reward: float
    """From 0 to 1."""

    success: bool
    label: str
    """SUCCESS, or how it failed."""

    severity: float
    """From -1 to 1: 1 on success, and less the worse a failure is."""

    seat_rewards: tuple[float, ...]
    """By seat, from 0 to 1."""

    trace_hash: str | None
    """Stands for the whole log; None where a world failed before it could be judged."""

    result: Result = field(repr=False)
    """All that `harness run` would record."""


def verdict_of(task: Task, outcome: Outcome, seats: int) -> EpisodeVerdict:
    """The verdict of a graded episode with so many seats."""
    result = outcome.result
    return EpisodeVerdict(
        reward=result.reward or 0.0,
        success=result.success,
        label=result.failure_label or "",
        severity=result.severity or 0.0,
        seat_rewards=_by_seat(task, outcome, seats),
        trace_hash=result.trace_hash,
        result=result,
    )


def _by_seat(task: Task, outcome: Outcome, seats: int) -> tuple[float, ...]:
    team = (outcome.result.reward or 0.0,) * seats
    part, written = family_part_or_none(task.family, "seat_rewards"), outcome.files.get("verdict.json")
    if part is None or not written:
        return team
    verdict = Verdict.model_validate_json(written)
    if not verdict.metrics or not all(check.ok for check in verdict.checks):
        return team
    return tuple(map(float, part.seat_rewards(JudgedLog(task, verdict, outcome.files["events.jsonl"]))))
