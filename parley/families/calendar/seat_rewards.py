"""Reward of each seat of a calendar game: the formula of the game's reward, applied to the seat's meetings and costs.

A seat earns (its meetings scheduled / its meetings) x (1 - its regret). Regret is its cost above its share of the best schedule
of the scheduled meetings, relative to an equal share of the range from the best to the worst complete schedule, clipped to
0..1. If all meetings were scheduled and nothing is clipped, the mean over the seats is the game's reward. If several schedules
are best, shares are those of the schedule in the certificate (`harness report --table ties`). A seat without meetings earns the
team's reward.
"""

from __future__ import annotations

from pydantic_core import from_json

from harness.registry import contents_of
from parley.training.verdict import JudgedLog
from worlds.calendar.rules.certificate import Certificate, read_certificate
from worlds.calendar.rules.measures import Measures, SeatMeasures


def seat_rewards(judged: JudgedLog) -> tuple[float, ...]:
    """Return the rewards by seat, from 0 to 1."""
    file = contents_of(judged.task.path, "tests").get("oracle.json")
    certificate = read_certificate(from_json(file.data) if file else None)

    team, rows = judged.verdict.reward, Measures.model_validate(judged.verdict.metrics).seats
    span = _span(certificate) / max(1, sum(one.coordination is not None for one in rows))
    return tuple(team if one.coordination is None else one.coordination * (1 - _regret(one, span)) for one in rows)


def _span(certificate: Certificate) -> float:
    """Return the difference between the worst and the best schedule; 0 if there is none or it is unknown."""
    best, worst = certificate.optimum, certificate.worst
    return 0.0 if best is None or worst is None else max(0.0, worst - best)


def _regret(row: SeatMeasures, span: float) -> float:
    # without a known share of the optimum, the whole cost of the seat counts as regret
    above = row.paid if row.deviation is None else row.deviation
    return min(1.0, max(0.0, above / span)) if span else 0.0
