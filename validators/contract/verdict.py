"""The contract family's verdict: strict success, and the most severe violation as the one label of a failure.

1. Success is the goal reached and no violation at all; a goal after a violation is `recovered`, which is no success.
2. The primary label is the most severe violation's, ties to the first (paper, Appendix K).
3. With no violation and no goal: EXPIRED_BEFORE_USE when a budget ended the episode while an artifact had run out unused,
   else OTHER, with the budget that ended it, or `pre_contract` when nothing was ever asked.
"""

from __future__ import annotations

from typing import Any

from validators.episode import Episode
from validators.verdict import Broken, Verdict
from worlds.contract.labels import Label, severity
from worlds.contract.rules.measures import Measures
from worlds.core.events import Issued, Requested


def assess(episode: Episode, _certificate: dict[str, Any] | None = None) -> Verdict:
    """The verdict of one contract episode; a contract needs no certificate."""
    label, detail = primary(episode)
    success = label is Label.SUCCESS
    opened = episode.opened
    return Verdict(
        task_id=opened.task_id,
        family=opened.family,
        category=opened.category,
        seed=opened.seed,
        success=success,
        reward=1.0 if success else 0.0,
        failure_label=label,
        severity=severity(label),
        failure_detail=detail,
        violations=tuple(_broken(event) for event in episode.violations),
        recovered=episode.goal is not None and not success,
        steps=episode.steps,
        virtual_time_elapsed=episode.elapsed_ms / 1000,
        trace_hash=episode.trace_hash,
        metrics=Measures(ended_by=episode.ended_by).model_dump(mode="json"),
    )


def primary(episode: Episode) -> tuple[Label, dict[str, Any]]:
    """The one label of an episode and its detail."""
    if episode.violations:
        worst = min(episode.violations, key=lambda event: (severity(event.label or ""), event.seq))
        return Label(worst.label or ""), worst.detail
    if episode.goal is not None:
        return Label.SUCCESS, {}
    if not episode.requests:
        return Label.OTHER, {"reason": episode.ended_by or "pre_contract"}
    lapsed = episode.lapsed()
    if episode.ended_by in ("steps", "virtual_time", "wall", "tokens", "turns", "context") and lapsed:
        return Label.EXPIRED_BEFORE_USE, _lapse(episode, lapsed[0])
    return Label.OTHER, {"reason": episode.ended_by or "gave_up"}


def _broken(event: Requested) -> Broken:
    return Broken(
        seq=event.seq, vt=event.vt, label=event.label or "", rule=event.rule or "", also=event.also, detail=event.detail
    )


def _lapse(episode: Episode, made: Issued) -> dict[str, Any]:
    return {
        "resource_id": made.artifact,
        "ttl_seconds": (made.expires_at - made.issued_at) / 1000,
        "time_of_attempt": episode.elapsed_ms / 1000,
        "expired_by_seconds": (episode.elapsed_ms - made.expires_at) / 1000,
    }
