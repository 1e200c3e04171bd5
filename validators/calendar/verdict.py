"""Verdict of the calendar family: success if every meeting is scheduled; the reward also depends on the cost.

1. The label is SUCCESS, or that of the first meeting that was not scheduled; an unresolved one is OTHER.
2. `severity` is +1 on success, else minus the fraction of meetings that were not scheduled.
3. A meeting counts as scheduled if its round succeeded (paper, Algorithm 1). If failed rounds are reverted, it is then also
scheduled at the end; if they are kept, `metrics.standing` counts those that still are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validators.calendar.history import Replay
from validators.calendar.metrics import compute_measures, meeting_rows
from validators.calendar.replay import NoGame, replay
from validators.episode import Episode
from validators.verdict import Verdict
from worlds.calendar.labels import Label
from worlds.calendar.rules.certificate import read_certificate
from worlds.core.events import Turned
from worlds.core.faults import faults_as_json


def assess(episode: Episode, certificate: Mapping[str, Any] | None = None) -> Verdict:
    """Return the verdict of one game; `certificate` is the content of tests/oracle.json, None if the task has none."""
    try:
        rebuilt = replay(episode)
    except NoGame as error:
        return episode.verdict(Label.OTHER, failure_detail={"reason": "no_game", "why": str(error)}, reward=0.0, severity=-1.0)
    label, detail = primary_label(episode, rebuilt)
    missed = 1 - len(rebuilt.scheduled_meetings) / len(rebuilt.scenario.meetings)
    measured = compute_measures(rebuilt, read_certificate(certificate), episode.ended_by)
    severity = 1.0 if label is Label.SUCCESS else -missed
    metrics = measured.model_dump(mode="json")
    return episode.verdict(label, failure_detail=detail, reward=measured.reward, severity=severity, metrics=metrics)


def primary_label(episode: Episode, rebuilt: Replay) -> tuple[Label, dict[str, Any]]:
    """Return the label of a game and its details."""
    if not any(isinstance(event, Turned) for event in episode.events):
        return Label.OTHER, {"reason": episode.ended_by or "no_turns"}
    row = next((row for row in meeting_rows(rebuilt) if not row.coordinated), None)
    if row is None:
        return Label.SUCCESS, {}
    detail = row.model_dump(mode="json", include={"meeting", "round", "letter", "slots", "broken"})
    if row.faults:
        detail["faults"] = faults_as_json(row.faults)
    if not row.reached:
        detail["reason"] = episode.ended_by or "gave_up"
    return Label(row.label), detail
