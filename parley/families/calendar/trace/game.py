"""A recorded game from its parts: set-up, replies and times determine the log, the events, the final state and the measures.

An export takes the parts from a log, a replay from a trace, an import from a file of the published layout. All use `retold`, so
that a trace always follows from the rules, and can be checked against its source.

The final state is the paper's `final_state`: calendars, costs, messages, and the outcome of each round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from harness.errors import UsageError
from harness.records import SeatResult, first_problem
from oracles.calendar.certificate import certify
from parley.families.calendar.trace.model import CellRecord, CostScale, FinalState, RoundOutcome, TraceConfig, TraceEvent
from parley.families.calendar.trace.telling import (
    TOOL_OF,
    Given,
    LoggedMark,
    Replies,
    ReplyNotes,
    Teller,
    Told,
    dated,
    logged,
    rerun,
)
from validators.calendar.history import Replay
from validators.calendar.metrics import measures
from validators.calendar.replay import replay
from validators.episode import Episode
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.items import Item, drawn
from worlds.calendar.rules.measures import Measures, RoundMeasures
from worlds.calendar.rules.scenario import Scenario, parse_scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Event, EventLog, Noted, Opened, Seated, canonical
from worlds.core.turns import OpenTurn


def final_state(rebuilt: Replay, measures: Measures) -> FinalState:
    """Return the state at the end of a rebuilt game, with its measures."""
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


@dataclass(frozen=True)
class GameRecord:
    """The parts that determine a game."""

    config: TraceConfig
    systems: tuple[str, ...]
    """The rules that the world has for each seat."""

    prompts: tuple[str, ...]
    """The system prompt of each seat: its rules, possibly followed by a prompt variant."""

    replies: Replies

    said: Mapping[str, ReplyNotes]
    marks: Sequence[LoggedMark]

    @property
    def scenario(self) -> Scenario:
        """The task; raises ValidationError if it is invalid."""
        return parse_scenario(canonical(self.config.scenario))

    @property
    def settings(self) -> Settings:
        """The rules; raises KeyError or TypeError for invalid options."""
        return Settings.of(self.config.options)


@dataclass(frozen=True)
class Retold:
    """A game computed by the rules."""

    log: EventLog
    events: tuple[TraceEvent, ...]
    certificate: Certificate
    measures: Measures
    final: FinalState

    @property
    def episode(self) -> Episode:
        """The log as validators read it."""
        return Episode(tuple(self.log.events))


def retold(record: GameRecord) -> Retold:
    """Replay a recorded game, measure it, and return its trace data."""
    scenario = record.scenario
    teller = Teller(scenario, record.settings, record.said)
    rerun(scenario, record.settings, record.replies, teller)
    log = logged(head(record), teller.log, record.marks)
    episode = Episode(tuple(log.events))
    certificate, rebuilt = certified(canonical(record.config.scenario)), replay(episode)
    measured = measures(rebuilt, certificate, episode.ended_by)
    told = [*_opening(record, certificate), *teller.told]
    events = dated(_with_metrics(told, measured), len(teller.log), record.marks)
    return Retold(log, tuple(events), certificate, measured, final_state(rebuilt, measured))


def rebuilt(record: GameRecord) -> Retold:
    """Return a replayed game. Raises UsageError for an invalid scenario or options."""
    try:
        return retold(record)
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        why = first_problem(error) if isinstance(error, ValidationError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"this game cannot be played again: {why}") from None


def by_turn(replies: Mapping[str, Given]) -> Replies:
    """Return a function that looks up replies by the id of their turn."""

    def reply(turn: OpenTurn) -> Given | None:
        return replies.get(turn.id)

    return reply


@lru_cache(maxsize=128)
def certified(scenario: bytes) -> Certificate:
    """Return a newly computed certificate of a scenario, cached because the same scenario is played many times."""
    return certify(parse_scenario(scenario))


def head(record: GameRecord) -> tuple[Event, ...]:
    """Return the first events of a world's log of this game."""
    config = record.config
    opened = Opened(
        task_id=config.task.id,
        family=config.task.family,
        category=config.task.category,
        seed=config.seed,
        epoch=config.epoch,
        key_digest=config.key_digest,
        options=config.options,
        budgets=config.budgets,
        instruction=config.instruction,
    )
    seated = Seated(seats=record.systems, public=config.public)
    return opened, seated, Noted(what="game_start", data={"scenario": config.scenario})


def cost_scale(scenario: Scenario) -> CostScale:
    """Return every cost of a scenario as it is shown, and as it is scored."""
    costs = {errand.cost for mine in scenario.errands for errand in mine}
    costs |= {meeting.cost for meeting in (*scenario.meetings, *scenario.prior)}
    shown = tuple(sorted(scenario.scale or costs))
    return CostScale(shown=shown, scored=tuple(map(scenario.scored, shown)))


def _opening(record: GameRecord, certificate: Certificate) -> list[Told]:
    """Return the set-up in the paper's terms, and each registered agent."""
    scenario, config = record.scenario, record.config
    holders = {one.seat: one for one in config.record.seats}
    nowhere: dict[str, Any] = {"round": None, "turn": None, "phase": None, "agent_id": None}
    channels = [name for channel, name in TOOL_OF.items() if channel in record.settings.channels]
    start = {
        **nowhere,
        "seed": config.seed,
        "num_agents": len(scenario.agents),
        "num_slots": scenario.slots,
        "num_meetings": len(scenario.meetings),
        "optimal_cost": certificate.optimum,
        "greedy_cost": certificate.greedy.cost if certificate.greedy else None,
        "nosy_agent_ids": [agent for agent, told in enumerate(record.prompts) if told != record.systems[agent]],
        "communication_protocol": "+".join(channels) or "none",
        "densities": [len(mine) / scenario.slots for mine in scenario.errands],
        "models": [holders[seat].model if seat in holders else None for seat in scenario.agents],
        "agent_types": [_type(holders.get(seat)) for seat in scenario.agents],
    }
    told = [Told(-1, "game_start", start)]
    for agent, (system, prompt) in enumerate(zip(record.systems, record.prompts, strict=True)):
        held, nosy = holders.get(agent), prompt != system
        about = {"is_nosy_agent": nosy, "model": held.model if held else None, "name": held.name if held else None}
        render = drawn(scenario.calendars[agent]) if agent in scenario.agents else ""
        shown = {"system_prompt": prompt, "world_rules": system if nosy else None, "calendar_render": render}
        told.append(Told(-1, "agent_registered", {**nowhere, "agent_id": agent, **shown, **about}))
    return told


def _type(held: SeatResult | None) -> str | None:
    """Return the type of a seat's holder: llm, or the name of a policy."""
    return None if held is None else "llm" if held.kind == "model" else held.name


def _with_metrics(told: Sequence[Told], measured: Measures) -> list[Told]:
    """Return the events with the measures added to the last event of the game."""
    metrics = measured.model_dump(mode="json")
    return [one._replace(data={**one.data, "metrics": metrics}) if one.type == "game_end" else one for one in told]
