"""Where a game ended, as the paper's `final_state` has it: calendars, costs, messages, and what became of each round."""

from __future__ import annotations

from collections import Counter

from harness.families.calendar.trace.model import CellRecord, FinalState, RoundOutcome
from harness.families.calendar.trace.telling import TOOL_OF
from validators.calendar.history import Replay
from worlds.calendar.rules.items import Item
from worlds.calendar.rules.measures import Measures, RoundMeasures


def final_state(rebuilt: Replay, measures: Measures) -> FinalState:
    """The state at the end of a rebuilt game, with what was measured of it."""
    agents, rounds = rebuilt.scenario.agents, measures.rounds
    channels = Counter(TOOL_OF[message.channel] for message in rebuilt.messages)
    return FinalState(
        calendars=tuple(tuple(map(_cell, cells)) for cells in rebuilt.calendars),
        per_agent_cost=tuple(seat.paid for seat in measures.seats),
        per_agent_cost_shown=tuple(seat.paid_shown for seat in measures.seats),
        oracle_per_agent_cost=tuple(seat.oracle_cost for seat in measures.seats),
        per_agent_messages_sent=tuple(seat.messages for seat in measures.seats),
        per_agent_messages_received=tuple(sum(agent in message.to for message in rebuilt.messages) for agent in agents),
        messages_by_channel=dict(sorted(channels.items())),
        round_outcomes=tuple(map(_outcome, rounds)),
        total_displacement_cost=measures.paid,
        rounds_succeeded=measures.scheduled,
        rounds_failed=sum(row.reached and not row.coordinated for row in rounds),
        consistency_violations=sum(len(row.broken) for row in rounds),
    )


def _cell(item: Item | None) -> CellRecord:
    if item is None:
        return None
    blocked = {"blocked": True} if item.blocked else {}
    return {f"{item.kind}_id": item.id, "cost": item.cost, **blocked}


def _outcome(row: RoundMeasures) -> RoundOutcome:
    return RoundOutcome(
        round=row.round,
        meeting_id=row.meeting,
        coordinated=row.coordinated,
        label=row.label,
        letter=row.letter,
        per_agent_slot=row.slots,
        consistency_violated_meeting_ids=row.broken,
        reached=row.reached,
    )
