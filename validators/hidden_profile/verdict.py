"""Verdict of the hidden-profile family: the fraction of seats whose final vote is the key, and why the others failed.

1. The reward is that fraction, in every condition; success is reward 1, regardless of each seat's knowledge.
2. The label is the first of `worlds.hidden_profile.labels` that applies: OTHER for a session that broke off, SUCCESS,
INVALID_VOTE, OTHER if nothing is proved, NOT_POOLED, NOT_HEARD.
3. `severity` is twice the reward minus one: +1 on success, -1 if no seat voted for the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validators.episode import Episode
from validators.hidden_profile.history import NoSession, Replay
from validators.hidden_profile.metrics import compute_measures
from validators.hidden_profile.replay import replay
from validators.verdict import Verdict
from worlds.core.events import Turned
from worlds.core.faults import faults_as_json
from worlds.hidden_profile.labels import Label
from worlds.hidden_profile.rules.certificate import read_certificate
from worlds.hidden_profile.rules.measures import Measures


def assess(episode: Episode, certificate: Mapping[str, Any] | None = None) -> Verdict:
    """Return the verdict of one session; `certificate` is the content of tests/oracle.json, None if the task has none."""
    try:
        rebuilt = replay(episode)
    except NoSession as error:
        return episode.verdict(
            Label.OTHER, failure_detail={"reason": "no_session", "why": str(error)}, reward=0.0, severity=-1.0
        )
    measured = compute_measures(rebuilt, read_certificate(certificate), episode.ended_by)
    label, detail = primary_label(episode, rebuilt, measured)
    reward, metrics = measured.reward, measured.model_dump(mode="json")
    return episode.verdict(label, failure_detail=detail, reward=reward, severity=2 * reward - 1, metrics=metrics)


def primary_label(episode: Episode, rebuilt: Replay, measured: Measures) -> tuple[Label, dict[str, Any]]:
    """Return the label of a session, and the seats that it concerns."""
    if not any(isinstance(event, Turned) for event in episode.events):
        return Label.OTHER, {"reason": episode.ended_by or "no_turns"}
    if not rebuilt.finished or rebuilt.after is None:
        return Label.OTHER, {"reason": episode.ended_by or "gave_up"}
    failed = [row for row in measured.seats if row.after != rebuilt.opening.scenario.key]
    if not failed:
        return Label.SUCCESS, {}
    if invalid := [row.seat for row in failed if row.after is None]:
        return Label.INVALID_VOTE, {"seats": invalid, "faults": faults_as_json(measured.faults)}
    if not measured.certified:
        return Label.OTHER, {"reason": "unproved", "seats": [row.seat for row in failed]}
    if unaware := [row.seat for row in failed if not row.could_know]:
        kept = [fact for fact in rebuilt.opening.scenario.of_scope("private") if fact not in measured.surfaced]
        return Label.NOT_POOLED, {"seats": unaware, "not_told": kept}
    return Label.NOT_HEARD, {"seats": [row.seat for row in failed], "faults": faults_as_json(measured.faults)}
