"""Verdict of an episode: rewards of the team and of each seat.

A family defines seat rewards in `parley.families.<family>.seat_rewards`: `seat_rewards(judged)` returns a number from 0 to 1
for each seat. Without that function, or if the hidden tests reject the log, each seat gets the team's reward.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.outcome import Outcome
from harness.plugins import family_part_or_none
from harness.records import Result
from harness.registry import Task
from validators.verdict import Verdict


@dataclass(frozen=True)
class JudgedLog:
    """Input for a family's seat rewards."""

    task: Task
    verdict: Verdict
    log: bytes
    """The complete event log."""


@dataclass(frozen=True)
class EpisodeVerdict:
    """Verdict of the task's hidden tests."""

    reward: float
    """Reward from 0 to 1."""

    success: bool
    label: str
    """SUCCESS, or the failure label."""

    severity: float
    """Severity from -1 to 1: 1 on success, lower for worse failures."""

    seat_rewards: tuple[float, ...]
    """Reward of each seat, from 0 to 1."""

    trace_hash: str | None
    """Hash of the whole event log; None if a world failed before the episode could be judged."""

    result: Result = field(repr=False)
    """The complete result that `harness run` would record."""


def verdict_of(task: Task, outcome: Outcome, seats: int) -> EpisodeVerdict:
    """Return the verdict of a graded episode with this number of seats."""
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
