"""Verdict of the contract family: strict success, or the most severe violation as the label of a failure.

1. Success is a goal without any violation; a goal after a violation is `recovered`, which is no success.
2. The primary label is that of the most severe violation, the first one of a tie (paper, Appendix K).
3. Without violation and goal, it is EXPIRED_BEFORE_USE if a budget ended the episode and an artifact had expired unused, else
OTHER, with the budget that ended it, or `pre_contract` if there was no request.
"""

from __future__ import annotations

from typing import Any

from validators.episode import Episode
from validators.verdict import Broken, Verdict
from worlds.contract.labels import Label, severity
from worlds.contract.rules.measures import Measures
from worlds.core.events import Issued, Requested


def assess(episode: Episode, _certificate: dict[str, Any] | None = None) -> Verdict:
    """Return the verdict of one contract episode; a contract needs no certificate."""
    label, detail = primary_label(episode)
    success = label is Label.SUCCESS
    return episode.verdict(
        label,
        reward=1.0 if success else 0.0,
        severity=severity(label),
        failure_detail=detail,
        violations=tuple(_broken(event) for event in episode.violations),
        recovered=episode.goal is not None and not success,
        metrics=Measures(ended_by=episode.ended_by).model_dump(mode="json"),
    )


def primary_label(episode: Episode) -> tuple[Label, dict[str, Any]]:
    """Return the label of an episode and its details."""
    if episode.violations:
        worst = min(episode.violations, key=lambda event: (severity(event.label or ""), event.seq))
        return Label(worst.label or ""), worst.detail
    if episode.goal is not None:
        return Label.SUCCESS, {}
    if not episode.requests:
        return Label.OTHER, {"reason": episode.ended_by or "pre_contract"}
    lapsed = episode.expired_unused()
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
