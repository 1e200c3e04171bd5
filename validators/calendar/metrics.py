"""The measures of one game, ready for JSON: by meeting, by seat, and for the game, with sums so that a report can pool games.

`seats` has the paper's measures by its names; `means`, `sums` and `counts` are over the seats that have a value.
`rounds` has one row for each meeting, reached or not, `seat_rounds` one for each seat in each of them. What needs a certificate
is None without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from validators.calendar.history import Replay, Resolved
from validators.calendar.reflections import reflections, told
from validators.calendar.seat_rounds import seat_rounds
from validators.calendar.seats import MEASURES, OF_REFLECTION, scheduled_best, seat_rows
from validators.calendar.vps import Privacy, privacy
from worlds.calendar.labels import LETTERS, Label
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.measures import Measured, Measures, PrivacyMeasures, RoundMeasures, SeatMeasures
from worlds.calendar.rules.resolution import common_slot, slots_of
from worlds.calendar.rules.scenario import Meeting

INFEASIBLE = "infeasible"
"""Said of a task that no schedule of all meetings solves."""


def measures(replay: Replay, certificate: Certificate, ended_by: str | None = None) -> Measures:
    """Everything that is measured of a game; `ended_by` is the budget or stop that cut it short."""
    losses, answers = privacy(replay), reflections(replay)
    rounds = meeting_rows(replay)
    seats = seat_rows(replay, certificate, losses, answers)
    return Measures(
        setting=replay.scenario.setting + (f", {INFEASIBLE}" if certificate.optima == 0 else ""),
        ended_by=ended_by,
        lies=len(replay.lies),
        finished=replay.finished,
        meetings=len(replay.scenario.meetings),
        scheduled=len(replay.scheduled),
        standing=_standing(replay),
        labels=dict(sorted(Counter(row.label for row in rounds).items())),
        refused=sum(row.refused for row in rounds),
        refused_blocked=sum(row.refused_blocked for row in rounds),
        **_costs(replay, certificate, seats),
        regret=regret(replay, certificate),
        reward=reward(replay, certificate),
        rounds=rounds,
        seats=seats,
        seat_rounds=seat_rounds(replay, certificate, losses, answers),
        **_pooled(seats, MEASURES if answers is None else (*MEASURES, *OF_REFLECTION)),
        vps=_told(losses),
        reflection=told(answers) if answers else None,
    )


def reward(replay: Replay, certificate: Certificate) -> float:
    """The share of meetings scheduled, times what is left of 1 after the regret (DESIGN section 5); 0 to 1."""
    return len(replay.scheduled) / len(replay.scenario.meetings) * (1 - (regret(replay, certificate) or 0.0))


def regret(replay: Replay, certificate: Certificate) -> float | None:
    """What was paid above the optimum of the scheduled subset, as a share of the way from best to worst schedule; 0 to 1.

    None without a certificate and where no schedule of all meetings exists; 0 where the worst one is as good as the best. Where
    the certificate has no subsets, a part that was scheduled is measured against no cost at all.
    """
    best, worst = certificate.optimum, certificate.worst
    if best is None or worst is None:
        return None
    if worst <= best:
        return 0.0
    optimum = scheduled_best(replay, certificate).optimum or 0
    return float(min(1.0, max(0.0, (_paid(replay) - optimum) / (worst - best))))


def meeting_rows(replay: Replay) -> tuple[RoundMeasures, ...]:
    """One row for each meeting in the order of the rounds; what was never resolved is OTHER."""
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
        coordinated=resolved is not None and resolved.success,
        reached=resolved is not None,
        first_speaker=meeting.order[0],
        broken=resolved.broken if resolved else (),
        refused=resolved.refused if resolved else 0,
        refused_blocked=resolved.blocked if resolved else 0,
        faults=resolved.faults if resolved else (),
    )


def _standing(replay: Replay) -> int:
    """How many of the rounds' meetings stand at the end: fewer than scheduled where a later move broke some for good."""
    return sum(common_slot(slots_of(replay.calendars, meeting)) is not None for meeting in replay.scenario.meetings)


def _paid(replay: Replay) -> int:
    return sum(replay.scored(one) for one in replay.committed if one.stands)


def _costs(replay: Replay, certificate: Certificate, seats: Sequence[SeatMeasures]) -> dict[str, Any]:
    """The game's own costs; ratios are None where what they divide by is 0 or not known."""
    optimum, paid = scheduled_best(replay, certificate).optimum, _paid(replay)
    whole = len(replay.scheduled) == len(replay.scenario.meetings)
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
