"""A recorded game, computed from its parts: set-up, replies and times determine log, events, final state and measures.

An export takes the parts from a log, a replay from a trace, an import from a file of the published layout. All use `retold`, so
that a trace always follows from the rules, and can be checked against its source. The recorded replies are given to the world's
own game, turn by turn, without calling a model. Each turn and each note of the log becomes one event (paper, Table 5;
specification 11), in the order of the log; further events are a turn's beginning, rollbacks, and broken meetings with their
agents. Times, and the log entries around the turns (requests, waits, and the end), cannot be computed and come from the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import to_json, to_jsonable_python

from harness.errors import UsageError
from harness.frames import grouped
from harness.records import first_problem
from oracles.calendar.certificate import certify
from parley.families.calendar.trace.model import OPENING, TraceConfig, TraceEvent
from validators.calendar.history import Replay
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import replay
from validators.episode import Episode
from worlds.calendar.game import REFLECTION, TOOLS, CalendarGame
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.items import Cells, Item, render_calendar, slot_of
from worlds.calendar.rules.measures import Measures, RoundMeasures
from worlds.calendar.rules.replies import read_actions, scores_shape
from worlds.calendar.rules.scenario import Meeting, Scenario, parse_scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import (
    Closed,
    Event,
    EventLog,
    Noted,
    Opened,
    Requested,
    Seated,
    Stopped,
    Turned,
    Waited,
    canonical_json,
)
from worlds.core.mending import mend
from worlds.core.replies import load_json, read_answer
from worlds.core.texts import Texts
from worlds.core.turns import Answer, OpenTurn, TurnTable


class Given(NamedTuple):
    """Reply to a turn, and its prompt."""

    answer: Answer
    prompt: str


Replies = Callable[[OpenTurn], Given | None]
"""Function that returns the reply to a turn; None if the record has none because the game was cut short."""


class SeatAsked(NamedTuple):
    """State of a seat when it was prompted."""

    calendar: Cells
    mail: tuple[Noted, ...]
    """The messages waiting for it; none for a turn that only measures, and for a second try."""


class _Wordless(Texts):
    """Prompt texts that all render as an empty string."""

    def __init__(self) -> None:
        super().__init__({})

    def render(self, name: str, **values: Any) -> str:
        return ""


TALK, DECISION = "CHEAP_TALK", "DECISION"
TOOL_OF = {channel: tool for tool, channel in TOOLS.items()}
SECONDARY = frozenset(
    {"game_start", "agent_registered", "turn_start", "decide_start", "measure_start", "decision_failed"}
    | {"batch_rolled_back", "consistency_violation"}
)
"""Types of events without an entry in the log."""

ENDS = frozenset({"turn_end", "decide_end", "measure_end"})
"""Types of events that contain a reply."""


class ReplyNotes(NamedTuple):
    """Recorded data of one reply in addition to its text."""

    text: str | None = None
    """The model's text, if the world rejected it."""

    reasoning: str | None = None
    usage: Mapping[str, Any] | None = None
    latency_ms: float | None = None


class Told(NamedTuple):
    """An event without its time; `place` counts the turns and notes of the log from 0."""

    place: int
    type: str
    data: dict[str, Any]


class Teller:
    """Replays a game; collects the entries of its log in `log`, and the events of its trace in `told`."""

    def __init__(self, scenario: Scenario, settings: Settings, said: Mapping[str, ReplyNotes]) -> None:
        self.log: list[Turned | Noted] = []
        self.told: list[Told] = []
        self._scenario, self._settings, self._said = scenario, settings, said
        self._game = CalendarGame(scenario, settings, self._noted, lambda cost: None, _Wordless())
        self._prompts: dict[str, str] = {}
        self._asked: dict[str, SeatAsked] = {}
        self._mail: dict[int, list[Noted]] = {}
        self._meeting: Meeting | None = None
        self._round: int | None = None
        self._sweep = 0
        self._canonical: dict[int, int] = {meeting.id: meeting.slot for meeting in scenario.prior}
        """The last known slot of each scheduled meeting."""

        self._exhausted: set[int] = set()
        self._blocked: set[int] = set()
        self._staged = False
        """True if a batch of the round was applied that may be rolled back."""

        self._committed: tuple[Cells, ...] | None = None
        """All calendars after the last batch of the round, before any rollback."""

    def play(self, replies: Replies) -> None:
        """Replay the game up to the end of its replies."""
        table = TurnTable(self._game.play(), self._turned)
        while not table.over:
            for turn in table.open:
                self._ask(turn)
            given = [(turn, said) for turn in table.open if (said := replies(turn)) is not None]
            if not given:
                table.abandon()
            for turn, said in given:
                self._prompts[turn.id] = said.prompt
                table.answer(turn.id, said.answer)

    def _ask(self, turn: OpenTurn) -> None:
        if turn.id not in self._asked:
            # the first try already received all mail
            takes = turn.attempt == 1 and not turn.ephemeral
            mail = self._mail.pop(turn.seat, []) if takes else []
            self._asked[turn.id] = SeatAsked(self._calendars[turn.seat], tuple(mail))

    @property
    def _calendars(self) -> Sequence[Cells]:
        """The calendars at this time."""
        return self._game.state.calendars

    def _turned(self, turn: Turned) -> None:
        """Record the beginning and the end of a turn."""
        asked, turn = self._asked[turn.turn], turn.model_copy(update={"text": self._prompts[turn.turn]})
        self.log.append(turn)
        kind = "measure" if turn.ephemeral else "turn" if turn.phase == TALK else "decide"
        if kind == "turn" and self._meeting and turn.seat == self._meeting.order[0]:
            self._sweep += 1
        where = {
            **self._where(turn.seat, turn.phase, self._sweep if kind == "turn" else None),
            "turn_id": turn.turn, "attempt": turn.attempt,
        }  # fmt: skip
        began = {
            "inbox_drained": [_letter(note) for note in asked.mail],
            "calendar_render": render_calendar(asked.calendar),
            "prompt_sent": turn.text,
        }
        self._tell(f"{kind}_start", {**where, **began})
        self._tell(f"{kind}_end", {**where, **self._reply(turn)})

    def _noted(self, what: str, seat: int | None = None, **data: Any) -> None:
        """Record a note as an event of the trace, by the method `_on_NOTE` if there is one."""
        note = Noted(what=what, seat=seat, data=to_jsonable_python(data))
        self.log.append(note)
        getattr(self, f"_on_{what}", self._other)(note)

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        self.told.append(Told(len(self.log) - 1, kind, data))

    def _where(self, agent: int | None, phase: str | None, turn: int | None = None) -> dict[str, Any]:
        return {"round": self._round, "turn": turn, "phase": phase, "agent_id": agent}

    def _reply(self, turn: Turned) -> dict[str, Any]:
        """Return a reply as it was parsed, with its text."""
        said, repair = self._said.get(turn.turn, ReplyNotes()), None if self._settings.strict_replies else mend
        # an answer about beliefs is a list of scores, not of actions
        slots = self._scenario.slots
        reading = read_answer(turn.reply, scores_shape(slots), repair) if turn.ephemeral else read_actions(turn.reply, repair)
        value = load_json(turn.reply)
        thinking = value.get("thinking") if isinstance(value, dict) else None
        return {
            "tool_calls": [] if turn.ephemeral else reading.value or [],
            "text": turn.reply if turn.no_reply is None else said.text,
            "thinking": thinking if isinstance(thinking, str) else None,
            "reasoning": said.reasoning,
            "usage": None if said.usage is None else dict(said.usage),
            "latency_ms": said.latency_ms,
            "raw": turn.reply,
            "parse": reading.how,
            "no_reply": turn.no_reply,
        }

    def _on_round_start(self, note: Noted) -> None:
        self._round, self._sweep = note.data["round"], -1
        self._meeting = meeting = self._scenario.meeting(note.data["meeting"])
        self._exhausted, self._blocked, self._staged, self._committed = set(), set(), False, None
        shown = meeting.model_dump(mode="json", include={"id", "participants", "duration", "cost", "label"})
        self._tell("round_start", {**self._where(None, None), "meeting": shown, "speaker_order": list(meeting.order)})

    def _on_message(self, note: Noted) -> None:
        data, where = note.data, self._where(note.seat, TALK, note.data["sweep"])
        for reader in data["to"]:
            self._mail.setdefault(reader, []).append(note)
        self._tell(f"{TOOL_OF[data['channel']]}_sent", {**where, **_letter(note), "content_chars": len(data["content"])})

    def _on_invalid_tool_call(self, note: Noted) -> None:
        self._tell_reply("invalid_tool_call", note, {"tool": note.data["tool"], "reason": note.data["why"]})

    def _on_parsed(self, note: Noted) -> None:
        self._tell_reply("reply_parsed", note, {"how": note.data["how"]})

    def _tell_reply(self, kind: str, note: Noted, told: Mapping[str, Any]) -> None:
        phase = note.data["phase"]
        where = self._where(note.seat, phase, self._sweep if phase == TALK else None)
        self._tell(kind, {**where, **told, "attempt": note.data.get("attempt")})

    def _on_batch_rejected(self, note: Noted) -> None:
        data, where, seat = note.data, self._where(note.seat, note.data["phase"]), note.seat
        assert seat is not None, "a batch is some seat's"
        if any(conflict == Conflict.BLOCKED for conflict, _ in data["conflicts"]):
            self._blocked.add(seat)
        told = {
            "attempt": data["attempt"],
            "conflict_description": "; ".join(text for _, text in data["conflicts"]),
            "conflicts": [conflict for conflict, _ in data["conflicts"]],
            "actions": data["actions"],
        }
        self._tell("batch_rejected", {**where, **told})
        if data["attempt"] > self._settings.decision_retries:
            if data["phase"] == DECISION:
                self._exhausted.add(seat)
            self._tell("decision_failed", {**where, "attempts_exhausted": data["attempt"]})

    def _on_committed(self, note: Noted) -> None:
        data, seat, meeting = note.data, note.seat, self._meeting
        assert seat is not None, "a batch is some seat's"
        assert meeting is not None, "a batch belongs to a round"
        phase = "VOLUNTARY" if data["slot"] is None else DECISION
        self._staged |= phase == DECISION or self._settings.voluntary == "staged"
        self._committed = tuple(self._calendars)
        keys = ("item_id", "from_slot", "to_slot")
        actions = [{"type": "reschedule", **dict(zip(keys, move, strict=True))} for move in data["moves"]]
        if data["slot"] is not None:
            actions.append({"type": "schedule", "meeting_id": meeting.id, "slot": data["slot"]})
        told = {"actions": actions, "cost_shown": data["cost"]}
        render = render_calendar(self._calendars[seat])
        self._tell("batch_applied", {**self._where(seat, phase), **told, "calendar_render_after": render})

    def _on_resolution(self, note: Noted) -> None:
        data = note.data
        calendars = tuple(self._calendars) if data["kept"] or self._committed is None else self._committed
        for broken in data["broken"]:
            self._violations(broken, calendars)
        if reason := self._rolled_back(kept=data["kept"]):
            self._tell("batch_rolled_back", {**self._where(None, DECISION), "reason": reason})
        if data["kept"]:
            self._canonical |= {int(meeting): slot for meeting, slot in data["standing"].items()}
        slots = {slot for slot in data["slots"].values() if slot is not None}
        told = {
            "meeting_id": data["meeting"],
            "per_agent_slot": data["slots"],
            "coordinated": data["label"] == "SUCCESS",
            "label": data["label"],
            "slot_conflicts": sorted(slots) if len(slots) > 1 else [],
            "consistency_violated_meeting_ids": data["broken"],
            "blocked_slot_violations": sorted(self._blocked),
            "kept": data["kept"],
            "per_agent_cost_shown": data["charged"],
            "standing": data["standing"],
        }
        self._tell("resolution", {**self._where(None, "RESOLUTION"), **told})

    def _violations(self, number: int, calendars: tuple[Cells, ...]) -> None:
        """Record an event for each participant whose calendar has an earlier meeting in another slot, or not at all."""
        canonical = self._canonical[number]
        for agent in self._scenario.meeting(number).participants:
            slot = slot_of(calendars[agent], number)
            if slot != canonical:
                told = {"meeting_id": number, "canonical_slot": canonical, "agent_slot": slot}
                self._tell("consistency_violation", {**self._where(agent, "RESOLUTION"), **told})

    def _rolled_back(self, *, kept: bool) -> str | None:
        """Return why valid batches were rolled back, or None."""
        if self._settings.blocked_attempts == "doom" and self._blocked:
            return "blocked_attempt"
        if self._settings.exhausted == "rollback" and self._exhausted:
            return "attempts_exhausted"
        return "round_failed" if not kept and self._staged else None

    def _on_reflection(self, note: Noted) -> None:
        data = note.data
        truth = [slot for slot, item in enumerate(self._calendars[data["target"]]) if item is not None]
        told = {"target_agent": data["target"], "scores": data["scores"], "how": data["how"], "no_reply": data["no_reply"]}
        told |= {"expected": data["expected"]} if "expected" in data else {}
        self._tell("reflection", {**self._where(note.seat, REFLECTION), **told, "target_taken_slots": truth})

    def _on_game_end(self, note: Noted) -> None:
        self._round = None
        told = {"per_agent_cost_shown": note.data["spent"], "per_agent_messages_sent": note.data["sent"]}
        self._tell("game_end", {**self._where(None, None), **told})

    def _other(self, note: Noted) -> None:
        where = self._where(note.seat, note.data.get("phase"), note.data.get("sweep"))
        self._tell(note.what, {**where, "note": note.data})


def _letter(note: Noted) -> dict[str, Any]:
    """Return a message as it is in an inbox."""
    data, to = note.data, note.data["to"]
    told = {"to_agent": to[0]} if data["channel"] == "dm" else {"to_agents": to}
    content = {"meeting_id": data["meeting"], "content": data["content"], "channel": TOOL_OF[data["channel"]]}
    return {"from_agent": note.seat, **told, **content}


FRAMES: Mapping[str, type[Event]] = {"request": Requested, "wait": Waited, "closed": Closed, "stop": Stopped}
"""Events of a log that are not part of the game, by their type there and in a trace."""

_SEALED = {"seq", "vt", "prev", "hash", "type"}
NOWHERE: dict[str, Any] = {"round": None, "turn": None, "phase": None, "agent_id": None}


class LoggedMark(NamedTuple):
    """The time of one event of a log; `frame` is the event itself if it is not part of the game."""

    vt: int
    frame: Event | None


def marks_of_log(events: Sequence[Event]) -> list[LoggedMark]:
    """Return the times of all events after a log's opening, its session and the first note of its game."""
    later = [event for event in events if not isinstance(event, Opened | Seated)]
    first = next((event for event in later if isinstance(event, Turned | Noted)), None)
    return [LoggedMark(event.vt, None if isinstance(event, Turned | Noted) else event) for event in later if event is not first]


def marks_of_trace(events: Iterable[TraceEvent]) -> list[LoggedMark]:
    """Return the times in a trace. Raises ValueError for an invalid request, wait or end."""
    marks = []
    for event in events:
        if event.type in FRAMES:
            fields = {name: value for name, value in event.data.items() if name not in NOWHERE}
            try:
                marks.append(LoggedMark(event.timestamp, FRAMES[event.type].model_validate_json(to_json(fields))))
            except ValidationError as error:
                raise ValueError(f"an event {event.type} is none: {error.errors()[0]['msg']}") from None
        elif event.type not in SECONDARY:
            marks.append(LoggedMark(event.timestamp, None))
    return marks


def logged(head: Sequence[Event], game: Sequence[Event], marks: Iterable[LoggedMark]) -> EventLog:
    """Return the log of a game: its opening, then turns and notes at the recorded times, or at the last known time."""
    log = EventLog()
    for event in head:
        log.append(event, vt=0)
    for vt, event in _merged(game, marks):
        log.append(event, vt=vt)
    return log


def dated(told: Sequence[Told], length: int, marks: Iterable[LoggedMark]) -> Iterator[TraceEvent]:
    """Yield the events of a trace with their times; `length` is the number of turns and notes of the log."""
    by_place = grouped(told, lambda one: one.place)
    for vt, item in ((0, -1), *_merged(range(length), marks)):
        if isinstance(item, Event):
            frame = item.model_dump(mode="json", exclude=_SEALED)
            yield TraceEvent(type=item.type, timestamp=vt, data={**NOWHERE, **frame})
        else:
            yield from (TraceEvent(type=one.type, timestamp=vt, data=one.data) for one in by_place.get(item, ()))


def _merged(game: Sequence[Any], marks: Iterable[LoggedMark]) -> Iterator[tuple[int, Any]]:
    """Yield the game's own events and the others, each with its time."""
    waiting, now = iter(game), 0
    for mark in marks:
        now = mark.vt
        if mark.frame is not None:
            yield now, mark.frame
        elif (event := next(waiting, None)) is not None:
            yield now, event
    for event in waiting:
        yield now, event


def _final_state(rebuilt: Replay, measures: Measures) -> dict[str, Any]:
    """Return the state at the end of a rebuilt game, with its measures, as JSON."""
    agents, rounds, seats = rebuilt.scenario.agents, measures.rounds, measures.seats
    channels = Counter(TOOL_OF[message.channel] for message in rebuilt.messages)
    return {
        "calendars": [[_cell(item) for item in cells] for cells in rebuilt.calendars],
        "per_agent_cost": [seat.paid for seat in seats],
        "per_agent_cost_shown": [seat.paid_shown for seat in seats],
        "oracle_per_agent_cost": [seat.oracle_cost for seat in seats],
        "per_agent_messages_sent": [seat.messages for seat in seats],
        "per_agent_messages_received": [sum(agent in message.to for message in rebuilt.messages) for agent in agents],
        "messages_by_channel": dict(sorted(channels.items())),
        "round_outcomes": [_outcome(row) for row in rounds],
        "total_displacement_cost": measures.paid,
        "rounds_succeeded": measures.scheduled,
        "rounds_failed": sum(row.reached and not row.coordinated for row in rounds),
        "consistency_violations": sum(len(row.broken) for row in rounds),
    }


def _cell(item: Item | None) -> dict[str, Any] | None:
    """Return a cell as in published task files."""
    if item is None:
        return None
    blocked = {"blocked": True} if item.blocked else {}
    return {f"{item.kind}_id": item.id, "cost": item.cost, **blocked}


def _outcome(row: RoundMeasures) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ("coordinated", "label", "letter")}
    slots = {"per_agent_slot": row.slots, "consistency_violated_meeting_ids": list(row.broken)}
    return {"round": row.round, "meeting_id": row.meeting, **told, **slots, "reached": row.reached}


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
        return parse_scenario(canonical_json(self.config.scenario))

    @property
    def settings(self) -> Settings:
        """The rules; raises KeyError or TypeError for invalid options."""
        return Settings.from_options(self.config.options)


@dataclass(frozen=True)
class Retold:
    """A game computed by the rules."""

    log: EventLog
    events: tuple[TraceEvent, ...]
    certificate: Certificate
    measures: Measures
    final: dict[str, Any]
    """State at the end, as in a trace."""

    @property
    def episode(self) -> Episode:
        """The log as validators read it."""
        return Episode(tuple(self.log.events))


def retold(record: GameRecord) -> Retold:
    """Replay a recorded game, measure it, and return its trace data."""
    scenario = record.scenario
    teller = Teller(scenario, record.settings, record.said)
    teller.play(record.replies)
    log = logged(_head(record), teller.log, record.marks)
    episode = Episode(tuple(log.events))
    certificate, rebuilt = certified(canonical_json(record.config.scenario)), replay(episode)
    measured = compute_measures(rebuilt, certificate, episode.ended_by)
    told = [*_opening(record, certificate), *teller.told]
    metrics = {"metrics": measured.model_dump(mode="json")}
    told = [one._replace(data={**one.data, **metrics}) if one.type == "game_end" else one for one in told]
    events = dated(told, len(teller.log), record.marks)
    return Retold(log, tuple(events), certificate, measured, _final_state(rebuilt, measured))


def rebuilt(record: GameRecord) -> Retold:
    """Return a replayed game. Raises UsageError for an invalid scenario or options."""
    try:
        return retold(record)
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"this game cannot be played again: {unplayable(error)}") from None


def unplayable(error: Exception) -> str:
    """Return the reason why a record is not a valid game."""
    return first_problem(error) if isinstance(error, ValidationError) else f"{type(error).__name__}: {error}"


@lru_cache(maxsize=128)
def certified(scenario: bytes) -> Certificate:
    """Return a newly computed certificate of a scenario, cached because the same scenario is played many times."""
    return certify(parse_scenario(scenario))


def _head(record: GameRecord) -> tuple[Event, ...]:
    """Return the first events of a world's log of this game."""
    config = record.config
    opened = Opened(
        task_id=config.task.id,
        family=config.task.family,
        category=config.task.category,
        **config.model_dump(include=OPENING),
    )
    seated = Seated(seats=record.systems, public=config.public)
    return opened, seated, Noted(what="game_start", data={"scenario": config.scenario})


def cost_scale(scenario: Scenario) -> dict[str, Any]:
    """Return every cost of a scenario on the shown and on the scored scale."""
    costs = {errand.cost for mine in scenario.errands for errand in mine}
    costs |= {meeting.cost for meeting in (*scenario.meetings, *scenario.prior)}
    shown = sorted(scenario.scale or costs)
    return {"shown": shown, "scored": [scenario.scored_cost(cost) for cost in shown]}


def _opening(record: GameRecord, certificate: Certificate) -> list[Told]:
    """Return the event of the set-up, in the paper's terms, and one for each registered agent."""
    scenario, config = record.scenario, record.config
    holders = {one.seat: one for one in config.record.seats}
    seats = [holders.get(seat) for seat in scenario.agents]
    channels = [name for channel, name in TOOL_OF.items() if channel in record.settings.channels]
    start = {
        **NOWHERE,
        "seed": config.seed,
        "num_agents": len(scenario.agents),
        "num_slots": scenario.slots,
        "num_meetings": len(scenario.meetings),
        "optimal_cost": certificate.optimum,
        "greedy_cost": certificate.greedy.cost if certificate.greedy else None,
        "nosy_agent_ids": [agent for agent, told in enumerate(record.prompts) if told != record.systems[agent]],
        "communication_protocol": "+".join(channels) or "none",
        "densities": [len(mine) / scenario.slots for mine in scenario.errands],
        "models": [held.model if held else None for held in seats],
        "agent_types": [held and ("llm" if held.kind == "model" else held.name) for held in seats],
    }
    told = [Told(-1, "game_start", start)]
    for agent, (system, prompt) in enumerate(zip(record.systems, record.prompts, strict=True)):
        held, nosy = holders.get(agent), prompt != system
        about = {"is_nosy_agent": nosy, "model": held.model if held else None, "name": held.name if held else None}
        render = render_calendar(scenario.calendars[agent]) if agent in scenario.agents else ""
        shown = {"system_prompt": prompt, "world_rules": system if nosy else None, "calendar_render": render}
        told.append(Told(-1, "agent_registered", {**NOWHERE, "agent_id": agent, **shown, **about}))
    return told
