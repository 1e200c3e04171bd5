"""What each seat did, paid and told in one game: the paper's measures, seat by seat (specification 8).

All costs are on the scored scale except `paid_shown`. Three costs differ only where rounds failed:
1. `cost` is everything that was ever committed, failed rounds included (as published);
2. `cost_kept` is what the rounds that succeeded cost;
3. `paid` is what is on the seat's account at the end: `cost_kept` where failed rounds are undone, `cost` where they are kept.
   Excess, deviation and adjusted cost are about `paid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from validators.calendar.history import Committed, Replay
from validators.calendar.reflections import Reflections
from validators.calendar.vps import Privacy
from worlds.calendar.rules.certificate import Certificate, Extremes
from worlds.calendar.rules.measures import SeatMeasures

Row = dict[str, Any]

MEASURES = (
    "meetings", "scheduled", "coordination", "first_speaker", "cost", "cost_kept", "paid", "paid_shown", "oracle_cost",
    "excess", "excess_kept", "excess_fairest", "deviation", "fairness", "adjusted_cost",
    "messages", "messages_per_scheduled", "vps", "excess_vps",
)  # fmt: skip
"""The numbers of a seat that can be summed and averaged."""

OF_REFLECTION = ("raw_reflection_vps", "reflection_vps", "excess_reflection_vps", "beliefs", "unreadable")
"""Those of games that asked for beliefs."""


def scheduled_best(replay: Replay, certificate: Certificate) -> Extremes:
    """The certificate's entry for the meetings that were scheduled; empty where it has none."""
    name = ",".join(map(str, replay.scheduled))
    subset = (certificate.by_subset or {}).get(name)
    if subset is not None:
        return subset
    return certificate.whole if len(replay.scheduled) == len(replay.scenario.meetings) else Extremes()


def seat_rows(
    replay: Replay, certificate: Certificate, losses: Privacy, answers: Reflections | None = None
) -> tuple[SeatMeasures, ...]:
    """One row a seat; None where the certificate does not say what is needed, or a seat takes part in nothing."""
    best = scheduled_best(replay, certificate).per_agent
    told, above = losses.by_target, losses.excess
    rows = [_counts(replay, seat) for seat in replay.scenario.agents]
    for seat, row in enumerate(rows):
        oracle = best[seat] if best else None
        row |= {
            "oracle_cost": oracle,
            "excess": _over(row["paid"], oracle),
            "excess_kept": _over(row["cost_kept"], oracle),
            "deviation": None if oracle is None else row["paid"] - oracle,
            **_against_all(replay, certificate, seat, row["paid"]),
            "vps": round(told[seat], 9),
            "excess_vps": round(above[seat], 9),
            **(answers.of_seat(seat) if answers else {}),
        }
        row["adjusted_cost"] = _adjusted(row, certificate, seat)
    _add_fairness(rows)
    return tuple(map(SeatMeasures.model_validate, rows))


def _counts(replay: Replay, seat: int) -> Row:
    meetings = [meeting for meeting in replay.scenario.meetings if seat in meeting.participants]
    won = sum(meeting.id in replay.scheduled for meeting in meetings)
    mine = [one for one in replay.committed if one.seat == seat]
    messages = sum(message.sender == seat for message in replay.messages)
    stands = [one for one in mine if one.stands]
    return {
        "seat": seat,
        "meetings": len(meetings),
        "scheduled": won,
        "coordination": won / len(meetings) if meetings else None,
        "first_speaker": sum(meeting.order[0] == seat for meeting in meetings),
        "cost": _cost(replay, mine),
        "cost_kept": _cost(replay, [one for one in mine if one.success]),
        "paid": _cost(replay, stands),
        "paid_shown": sum(one.batch.cost for one in stands),
        "messages": messages,
        "messages_per_scheduled": messages / max(won, 1),
    }


def _cost(replay: Replay, batches: Sequence[Committed]) -> int:
    return sum(replay.scored(one) for one in batches)


def _over(cost: int, oracle: int | None) -> int | None:
    return None if oracle is None else max(0, cost - oracle)


def _against_all(replay: Replay, certificate: Certificate, seat: int, paid: int) -> Row:
    """Excess against every optimum, and against the fairest: known where all meetings were scheduled."""
    whole = len(replay.scheduled) == len(replay.scenario.meetings)
    ranges, fairest = certificate.ranges, certificate.fairest
    return {
        "excess_range": [max(0, paid - cost) for cost in reversed(ranges[seat])] if whole and ranges else None,
        "excess_fairest": _over(paid, fairest.per_agent[seat]) if whole and fairest else None,
    }


def _adjusted(row: Row, certificate: Certificate, seat: int) -> float | None:
    """Excess, and for each meeting missed the seat's whole span from best to worst, a meeting."""
    best, worst = certificate.per_agent, certificate.worst_per_agent
    if not row["meetings"] or row["excess"] is None or not best or not worst:
        return None
    missed = row["meetings"] - row["scheduled"]
    return float((row["excess"] + missed * max(0, worst[seat] - best[seat])) / row["meetings"])


def _add_fairness(rows: Sequence[Row]) -> None:
    """How far each seat's deviation lies from the mean of all."""
    known = [row["deviation"] for row in rows if row["deviation"] is not None]
    for row in rows:
        row["fairness"] = None if row["deviation"] is None else abs(row["deviation"] - sum(known) / len(known))
