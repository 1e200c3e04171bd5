"""Measurements of a calendar game, ready for JSON: by meeting, by seat, by seat and round, and for the game.

`means`, `sums` and `counts` cover the seats that have a value, so reports can pool games. Values that need a certificate are
None without one. Only the privacy loss of typed messages is measured; for a seat that wrote prose in a round, the number omits
what the prose revealed. `oracle_cost` follows the certificate's schedule of all meetings (paper, G.2); the costs of such games
are direct: a seat pays for the items in the meeting's slot on its initial calendar.

Costs (specification 8) are on the scored scale except `paid_shown`: `cost` is everything that was ever committed (published),
`cost_kept` the rounds that succeeded, and `paid` the final account, on which excess, deviation and adjusted cost are based.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from validators.calendar.evidence import Privacy, is_typed, measure_privacy
from validators.calendar.history import Committed, Replay, Resolved
from validators.calendar.reflections import Reflections, read_reflections, reflection_record
from worlds.calendar.labels import LETTERS, Label
from worlds.calendar.rules.certificate import Certificate, Extremes
from worlds.calendar.rules.measures import (
    Measured,
    Measures,
    PrivacyMeasures,
    Role,
    RoundMeasures,
    SeatMeasures,
    SeatRoundMeasures,
)
from worlds.calendar.rules.resolution import common_slot, slots_of
from worlds.calendar.rules.scenario import Meeting, Scenario

Row = dict[str, Any]

MEASURES = (
    "meetings", "scheduled", "coordination", "first_speaker", "cost", "cost_kept", "paid", "paid_shown", "oracle_cost",
    "excess", "excess_kept", "excess_fairest", "deviation", "fairness", "adjusted_cost",
    "messages", "messages_per_scheduled", "vps", "excess_vps",
)  # fmt: skip
"""Numbers of a seat that can be summed and averaged."""

REFLECTION_MEASURES = ("raw_reflection_vps", "reflection_vps", "excess_reflection_vps", "beliefs", "unreadable")
"""Numbers of a seat in games that ask for beliefs."""


def best_of_scheduled(replay: Replay, certificate: Certificate) -> Extremes:
    """Return the certificate's entry for the scheduled meetings; empty if it has none."""
    name = ",".join(map(str, replay.scheduled_meetings))
    subset = (certificate.by_subset or {}).get(name)
    if subset is not None:
        return subset
    return certificate.whole if len(replay.scheduled_meetings) == len(replay.scenario.meetings) else Extremes()


def seat_rows(
    replay: Replay, certificate: Certificate, losses: Privacy, answers: Reflections | None = None
) -> tuple[SeatMeasures, ...]:
    """Return one row per seat; a value is None if the certificate lacks it, or if the seat takes part in no meeting."""
    best = best_of_scheduled(replay, certificate).per_agent
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
            **(answers.seat_fields(seat) if answers else {}),
        }
        row["adjusted_cost"] = _adjusted(row, certificate, seat)
    _add_fairness(rows)
    return tuple(map(SeatMeasures.model_validate, rows))


def _counts(replay: Replay, seat: int) -> Row:
    meetings = [meeting for meeting in replay.scenario.meetings if seat in meeting.participants]
    won = sum(meeting.id in replay.scheduled_meetings for meeting in meetings)
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
    return sum(replay.scored_cost(one) for one in batches)


def _over(cost: int, oracle: int | None) -> int | None:
    return None if oracle is None else max(0, cost - oracle)


def _against_all(replay: Replay, certificate: Certificate, seat: int, paid: int) -> Row:
    """Return the excess over every optimum and over the fairest; known only if all meetings were scheduled."""
    whole = len(replay.scheduled_meetings) == len(replay.scenario.meetings)
    ranges, fairest = certificate.ranges, certificate.fairest
    return {
        "excess_range": [max(0, paid - cost) for cost in reversed(ranges[seat])] if whole and ranges else None,
        "excess_fairest": _over(paid, fairest.per_agent[seat]) if whole and fairest else None,
    }


def _adjusted(row: Row, certificate: Certificate, seat: int) -> float | None:
    """Return the excess, plus the seat's range from best to worst for each missed meeting, per meeting."""
    best, worst = certificate.per_agent, certificate.worst_per_agent
    if not row["meetings"] or row["excess"] is None or not best or not worst:
        return None
    missed = row["meetings"] - row["scheduled"]
    return float((row["excess"] + missed * max(0, worst[seat] - best[seat])) / row["meetings"])


def _add_fairness(rows: Sequence[Row]) -> None:
    """Add the distance of each seat's deviation from the mean of all."""
    known = [row["deviation"] for row in rows if row["deviation"] is not None]
    for row in rows:
        row["fairness"] = None if row["deviation"] is None else abs(row["deviation"] - sum(known) / len(known))


Cell = tuple[int, int]
"""Round and seat."""


def seat_rounds(
    replay: Replay, certificate: Certificate, losses: Privacy, answers: Reflections | None = None
) -> tuple[SeatRoundMeasures, ...]:
    """Return one row for each round and seat, in that order, including rounds that were never reached."""
    sent = Counter((message.round, message.sender) for message in replay.messages)
    prose = Counter((message.round, message.sender) for message in replay.messages if not is_typed(message.content))
    told: defaultdict[Cell, float] = defaultdict(float)
    for (number, target, _), pair in losses.pairs.items():
        told[number, target] += pair.loss
    batches: defaultdict[Cell, list[Committed]] = defaultdict(list)
    for one in replay.committed:
        batches[one.round, one.seat].append(one)
    movers = _movers(replay.committed)
    rows = []
    for number, meeting in enumerate(replay.scenario.meetings, start=1):
        for seat in replay.scenario.agents:
            cell, mine = (number, seat), batches[number, seat]
            moves = [move.item for one in mine for move in one.batch.moves]
            moved = sorted({item.id for item in moves if item.kind == "meeting"})
            rows.append(
                SeatRoundMeasures(
                    round=number,
                    seat=seat,
                    role=_role(meeting, seat),
                    messages=sent[cell],
                    prose=prose[cell],
                    vps=round(told[cell], 9),
                    moves=len(moves),
                    cost=sum(replay.scored_cost(one) for one in mine),
                    oracle_cost=oracle_cost(replay.scenario, certificate, meeting, seat),
                    reflection_vps=answers.round_loss(number, seat) if answers else None,
                    moved=tuple(moved),
                    alone=tuple(item for item in moved if not _participants(replay.scenario, item) <= movers[number, item]),
                )
            )
    return tuple(rows)


def oracle_cost(scenario: Scenario, certificate: Certificate, meeting: Meeting, seat: int) -> int | None:
    """Return a participant's cost of one meeting in the certificate's schedule; None for outsiders or without a schedule."""
    slot = (certificate.assignment or {}).get(str(meeting.id))
    if slot is None or seat not in meeting.participants:
        return None
    in_the_way = {item for item in scenario.calendars[seat][slot : slot + meeting.duration] if item is not None}
    return sum(scenario.scored_cost(item.cost) for item in in_the_way)


def _role(meeting: Meeting, seat: int) -> Role:
    if seat == meeting.order[0]:
        return "first"
    return "participant" if seat in meeting.participants else "outsider"


def _movers(committed: Sequence[Committed]) -> Mapping[Cell, set[int]]:
    movers: defaultdict[Cell, set[int]] = defaultdict(set)
    for one in committed:
        for move in one.batch.moves:
            if move.item.kind == "meeting":
                movers[one.round, move.item.id].add(one.seat)
    return movers


def _participants(scenario: Scenario, meeting: int) -> set[int]:
    return set(scenario.meeting(meeting).participants)


INFEASIBLE = "infeasible"
"""Suffix of the setting of a task for which no schedule of all meetings exists."""


def compute_measures(replay: Replay, certificate: Certificate, ended_by: str | None = None) -> Measures:
    """Return all measurements of a game; `ended_by` is the budget or stop that ended it early."""
    losses, answers = measure_privacy(replay), read_reflections(replay)
    rounds = meeting_rows(replay)
    seats = seat_rows(replay, certificate, losses, answers)
    return Measures(
        setting=replay.scenario.setting + (f", {INFEASIBLE}" if certificate.optima == 0 else ""),
        ended_by=ended_by,
        lies=len(replay.lies),
        finished=replay.finished,
        meetings=len(replay.scenario.meetings),
        scheduled=len(replay.scheduled_meetings),
        standing=sum(common_slot(slots_of(replay.calendars, one)) is not None for one in replay.scenario.meetings),
        labels=dict(sorted(Counter(row.label for row in rounds).items())),
        refused=sum(row.refused for row in rounds),
        refused_blocked=sum(row.refused_blocked for row in rounds),
        **_costs(replay, certificate, seats),
        regret=compute_regret(replay, certificate),
        reward=compute_reward(replay, certificate),
        rounds=rounds,
        seats=seats,
        seat_rounds=seat_rounds(replay, certificate, losses, answers),
        **_pooled(seats, MEASURES if answers is None else (*MEASURES, *REFLECTION_MEASURES)),
        vps=_told(losses),
        reflection=reflection_record(answers) if answers else None,
    )


def compute_reward(replay: Replay, certificate: Certificate) -> float:
    """Return the fraction of scheduled meetings times one minus the regret (DESIGN section 5); 0 to 1."""
    return len(replay.scheduled_meetings) / len(replay.scenario.meetings) * (1 - (compute_regret(replay, certificate) or 0.0))


def compute_regret(replay: Replay, certificate: Certificate) -> float | None:
    """Return the cost above the optimum of the scheduled subset, relative to the range from best to worst schedule; 0 to 1.

    None without a certificate or if no schedule of all meetings exists; 0 if the worst one is as good as the best. If the
    certificate has no subsets, a scheduled subset is measured against an optimum of 0.
    """
    best, worst = certificate.optimum, certificate.worst
    if best is None or worst is None:
        return None
    if worst <= best:
        return 0.0
    optimum = best_of_scheduled(replay, certificate).optimum or 0
    return float(min(1.0, max(0.0, (_paid(replay) - optimum) / (worst - best))))


def meeting_rows(replay: Replay) -> tuple[RoundMeasures, ...]:
    """Return one row for each meeting in the order of the rounds; unresolved rounds are OTHER."""
    by_round = {one.number: one for one in replay.resolved}
    meetings = enumerate(replay.scenario.meetings, start=1)
    return tuple(_meeting(number, meeting, by_round.get(number)) for number, meeting in meetings)


def _meeting(number: int, meeting: Meeting, resolved: Resolved | None) -> RoundMeasures:
    label = resolved.label if resolved else Label.OTHER
    slots: Mapping[int, int | None] = resolved.slots if resolved else {}
    return RoundMeasures(
        meeting=meeting.id,
        round=number,
        label=str(label),
        letter=LETTERS.get(label),
        slots={str(agent): slot for agent, slot in slots.items()},
        coordinated=resolved is not None and resolved.is_scheduled,
        reached=resolved is not None,
        first_speaker=meeting.order[0],
        broken=resolved.broken if resolved else (),
        refused=resolved.refused if resolved else 0,
        refused_blocked=resolved.blocked if resolved else 0,
        faults=resolved.faults if resolved else (),
    )


def _paid(replay: Replay) -> int:
    return sum(replay.scored_cost(one) for one in replay.committed if one.stands)


def _costs(replay: Replay, certificate: Certificate, seats: Sequence[SeatMeasures]) -> dict[str, Any]:
    """Return the costs of the game; a ratio is None if its divisor is 0 or unknown."""
    optimum, paid = best_of_scheduled(replay, certificate).optimum, _paid(replay)
    whole = len(replay.scheduled_meetings) == len(replay.scenario.meetings)
    greedy = certificate.greedy.cost if whole and certificate.greedy else None
    return {
        "cost": sum(row.cost for row in seats),
        "cost_kept": sum(row.cost_kept for row in seats),
        "paid": paid,
        "paid_shown": sum(row.paid_shown for row in seats),
        "optimum": optimum,
        "optimum_all": certificate.optimum,
        "worst_all": certificate.worst,
        # of a task that no schedule solves there is no best to divide by, though parts of it have one
        "normalised_cost": paid / optimum if optimum and certificate.optimum is not None else None,
        "cost_vs_greedy": paid / greedy if greedy else None,
    }


def _pooled(seats: Sequence[SeatMeasures], names: Sequence[str]) -> dict[str, Any]:
    values: dict[str, list[Measured]] = {
        name: [value for row in seats if (value := getattr(row, name)) is not None] for name in names
    }
    return {
        "sums": {name: sum(known) for name, known in values.items()},
        "counts": {name: len(known) for name, known in values.items()},
        "means": {name: sum(known) / len(known) if known else None for name, known in values.items()},
    }


def _told(losses: Privacy) -> PrivacyMeasures:
    split = {"by_source": losses.by_source, "by_channel": losses.by_channel, "by_phase": losses.by_phase}
    rounded = {name: {key: round(loss, 9) for key, loss in sorted(part.items())} for name, part in split.items()}
    return PrivacyMeasures(prior=losses.prior, cumulative=losses.cumulative, **rounded)
