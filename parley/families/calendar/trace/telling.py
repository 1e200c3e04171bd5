"""Events, times and replay of a recorded game for its trace.

The events of a trace follow the paper (Table 5; specification 11).

1. Each turn and each note of the world's log is one event, in its order; further events are a turn's beginning, rollbacks, and
   broken meetings with their agents. `Told.place` links each to an entry of the log.
2. The effects of a reply (actions, batches, calendars, conflicts) are computed here from the rules. Data that only the record
   has (a model's reasoning, tokens) is added.
3. An unknown kind of note is an event of its own name.

Times of a game come from a record, together with the log entries around its turns: requests, waits, and the end. The rules
determine the order; only the record has the times. `marks_of_log` and `marks_of_trace` read the times of a log and of a trace,
and `logged` and `dated` assign them to a replayed game.

A replay uses the world's own rules and recorded replies, without calling a model. `rerun` feeds recorded replies to
`CalendarGame`, turn by turn, through the table of turns that a world uses. It notifies a listener of every turn and every note
in the order of a log, with the state of the game at that time. Prompts are taken from the record and not rendered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError
from pydantic_core import to_json, to_jsonable_python

from parley.families.calendar.trace.model import TraceEvent
from worlds.calendar.game import REFLECTION, TOOLS, CalendarGame, GameState
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.items import Cells, drawn, slot_of
from worlds.calendar.rules.replies import read_actions, scores_shape
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Closed, Event, EventLog, Noted, Opened, Requested, Seated, Stopped, Turned, Waited
from worlds.core.mending import mend
from worlds.core.replies import load, read_answer
from worlds.core.texts import Texts
from worlds.core.turns import Answer, OpenTurn, TurnTable


class Given(NamedTuple):
    """Reply to a turn, and its prompt."""

    answer: Answer
    prompt: str


Replies = Callable[[OpenTurn], Given | None]
"""Function that returns the reply to a turn; None if the record has none because the game was cut short."""


@dataclass(frozen=True)
class SeatAsked:
    """State of a seat when it was prompted."""

    calendar: Cells
    mail: tuple[Noted, ...]
    """The messages waiting for it; none for a turn that only measures, and for a second try."""


class Listener(Protocol):
    """Receiver of the events of a game."""

    def turned(self, turn: Turned, asked: SeatAsked) -> None:
        """Handle the end of a turn."""
        ...

    def noted(self, note: Noted, state: GameState) -> None:
        """Handle a note; the state is the one after it."""
        ...


def rerun(scenario: Scenario, settings: Settings, replies: Replies, listener: Listener) -> None:
    """Replay a game up to the end of its replies."""
    _Rerun(scenario, settings, listener).play(replies)


class _Wordless(Texts):
    """Texts that render as nothing."""

    def __init__(self) -> None:
        super().__init__({})

    def render(self, name: str, **values: Any) -> str:
        return ""


@dataclass
class _Rerun:
    scenario: Scenario
    settings: Settings
    listener: Listener
    _prompts: dict[str, str] = field(default_factory=dict)
    _asked: dict[str, SeatAsked] = field(default_factory=dict)
    _mail: dict[int, list[Noted]] = field(default_factory=dict)

    def play(self, replies: Replies) -> None:
        self._game = CalendarGame(self.scenario, self.settings, self._note, lambda cost: None, _Wordless())
        table = TurnTable(self._game.play(), self._turned)
        while not table.over:
            given = [(turn, said) for turn in table.open if (said := self._reply(turn, replies)) is not None]
            if not given:
                table.abandon()
            for turn, said in given:
                self._prompts[turn.id] = said.prompt
                table.answer(turn.id, said.answer)

    def _reply(self, turn: OpenTurn, replies: Replies) -> Given | None:
        if turn.id not in self._asked:
            # what was asked first took all mail with it
            takes = turn.attempt == 1 and not turn.ephemeral
            mail = self._mail.pop(turn.seat, []) if takes else []
            self._asked[turn.id] = SeatAsked(self._game.state.calendars[turn.seat], tuple(mail))
        return replies(turn)

    def _turned(self, turn: Turned) -> None:
        self.listener.turned(turn.model_copy(update={"text": self._prompts[turn.turn]}), self._asked[turn.turn])

    def _note(self, what: str, seat: int | None = None, **data: Any) -> None:
        note = Noted(what=what, seat=seat, data=to_jsonable_python(data))
        if what == "message":
            for reader in note.data["to"]:
                self._mail.setdefault(reader, []).append(note)
        self.listener.noted(note, self._game.state)


TALK, DECISION = "CHEAP_TALK", "DECISION"
SENT = {channel: f"{tool}_sent" for tool, channel in TOOLS.items()}
"""For each channel, the type of event."""

TOOL_OF = {channel: tool for tool, channel in TOOLS.items()}
SECONDARY = frozenset(
    {"game_start", "agent_registered", "turn_start", "decide_start", "measure_start", "decision_failed"}
    | {"batch_rolled_back", "consistency_violation"}
)
"""Types of events without an entry in the log; every other type has one."""

ENDS = frozenset({"turn_end", "decide_end", "measure_end"})
"""Types of events that hold a reply."""


class ReplyNotes(NamedTuple):
    """Recorded data of one reply beside its text."""

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
    """Listener that collects the entries of the log in `log`, and the events of the trace in `told`."""

    def __init__(self, scenario: Scenario, settings: Settings, said: Mapping[str, ReplyNotes]) -> None:
        self.log: list[Turned | Noted] = []
        self.told: list[Told] = []
        self._scenario, self._settings, self._said = scenario, settings, said
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

    def turned(self, turn: Turned, asked: SeatAsked) -> None:
        """Record the beginning and the end of a turn."""
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
            "calendar_render": drawn(asked.calendar),
            "prompt_sent": turn.text,
        }
        self._tell(f"{kind}_start", {**where, **began})
        self._tell(f"{kind}_end", {**where, **self._reply(turn)})

    def noted(self, note: Noted, state: GameState) -> None:
        """Record a note under its name in a trace."""
        self.log.append(note)
        tell = self._NOTES.get(note.what, Teller._other)
        tell(self, note, state)

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        self.told.append(Told(len(self.log) - 1, kind, data))

    def _where(self, agent: int | None, phase: str | None, turn: int | None = None) -> dict[str, Any]:
        return {"round": self._round, "turn": turn, "phase": phase, "agent_id": agent}

    def _reply(self, turn: Turned) -> dict[str, Any]:
        """Return a reply as it was parsed, with its text."""
        said, repair = self._said.get(turn.turn, ReplyNotes()), None if self._settings.strict_replies else mend
        # an answer about beliefs is a list, and not one of actions
        slots = self._scenario.slots
        reading = read_answer(turn.reply, scores_shape(slots), repair) if turn.ephemeral else read_actions(turn.reply, repair)
        value = load(turn.reply)
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

    def _round_start(self, note: Noted, state: GameState) -> None:
        self._round, self._sweep = note.data["round"], -1
        self._meeting = meeting = self._scenario.meeting(note.data["meeting"])
        self._exhausted, self._blocked, self._staged, self._committed = set(), set(), False, None
        shown = meeting.model_dump(mode="json", include={"id", "participants", "duration", "cost", "label"})
        self._tell("round_start", {**self._where(None, None), "meeting": shown, "speaker_order": list(meeting.order)})

    def _message(self, note: Noted, state: GameState) -> None:
        data, where = note.data, self._where(note.seat, TALK, note.data["sweep"])
        self._tell(SENT[data["channel"]], {**where, **_letter(note), "content_chars": len(data["content"])})

    def _invalid(self, note: Noted, state: GameState) -> None:
        where = self._where(note.seat, note.data["phase"], self._sweep if note.data["phase"] == TALK else None)
        told = {"tool": note.data["tool"], "reason": note.data["why"], "attempt": note.data.get("attempt")}
        self._tell("invalid_tool_call", {**where, **told})

    def _parsed(self, note: Noted, state: GameState) -> None:
        where = self._where(note.seat, note.data["phase"], self._sweep if note.data["phase"] == TALK else None)
        self._tell("reply_parsed", {**where, "how": note.data["how"], "attempt": note.data.get("attempt")})

    def _rejected(self, note: Noted, state: GameState) -> None:
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

    def _commit(self, note: Noted, state: GameState) -> None:
        data, seat, meeting = note.data, note.seat, self._meeting
        assert seat is not None, "a batch is some seat's"
        assert meeting is not None, "and of some round"
        phase = "VOLUNTARY" if data["slot"] is None else DECISION
        self._staged |= phase == DECISION or self._settings.voluntary == "staged"
        self._committed = tuple(state.calendars)
        keys = ("item_id", "from_slot", "to_slot")
        actions = [{"type": "reschedule", **dict(zip(keys, move, strict=True))} for move in data["moves"]]
        if data["slot"] is not None:
            actions.append({"type": "schedule", "meeting_id": meeting.id, "slot": data["slot"]})
        told = {"actions": actions, "cost_shown": data["cost"]}
        render = drawn(state.calendars[seat])
        self._tell("batch_applied", {**self._where(seat, phase), **told, "calendar_render_after": render})

    def _resolution(self, note: Noted, state: GameState) -> None:
        data = note.data
        calendars = tuple(state.calendars) if data["kept"] or self._committed is None else self._committed
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

    def _reflection(self, note: Noted, state: GameState) -> None:
        data = note.data
        truth = [slot for slot, item in enumerate(state.calendars[data["target"]]) if item is not None]
        told = {"target_agent": data["target"], "scores": data["scores"], "how": data["how"], "no_reply": data["no_reply"]}
        told |= {"expected": data["expected"]} if "expected" in data else {}
        self._tell("reflection", {**self._where(note.seat, REFLECTION), **told, "target_taken_slots": truth})

    def _game_end(self, note: Noted, state: GameState) -> None:
        self._round = None
        told = {"per_agent_cost_shown": note.data["spent"], "per_agent_messages_sent": note.data["sent"]}
        self._tell("game_end", {**self._where(None, None), **told})

    def _other(self, note: Noted, state: GameState) -> None:
        where = self._where(note.seat, note.data.get("phase"), note.data.get("sweep"))
        self._tell(note.what, {**where, "note": note.data})

    _NOTES: Mapping[str, Callable[[Teller, Noted, GameState], None]] = {
        "round_start": _round_start, "message": _message, "invalid_tool_call": _invalid, "parsed": _parsed,
        "batch_rejected": _rejected, "committed": _commit, "resolution": _resolution, "reflection": _reflection,
        "game_end": _game_end,
    }  # fmt: skip


def _letter(note: Noted) -> dict[str, Any]:
    """Return a message as it is in an inbox."""
    data, to = note.data, note.data["to"]
    told = {"to_agent": to[0]} if data["channel"] == "dm" else {"to_agents": to}
    content = {"meeting_id": data["meeting"], "content": data["content"], "channel": TOOL_OF[data["channel"]]}
    return {"from_agent": note.seat, **told, **content}


FRAMES: Mapping[str, type[Event]] = {"request": Requested, "wait": Waited, "closed": Closed, "stop": Stopped}
"""Events of a log that are not part of the game, by their type there and in a trace."""

_SEALED = {"seq", "vt", "prev", "hash", "type"}
_NOWHERE: dict[str, Any] = {"round": None, "turn": None, "phase": None, "agent_id": None}


class LoggedMark(NamedTuple):
    """The time of one event of a log; `frame` is the event itself if it is not part of the game."""

    vt: int
    frame: Event | None


def marks_of_log(events: Sequence[Event]) -> list[LoggedMark]:
    """Return the times of all events after a log's opening, its session and the first note of its game."""
    marks: list[LoggedMark] = []
    begun = False
    for event in events:
        if isinstance(event, Opened | Seated):
            continue
        if isinstance(event, Turned | Noted):
            if begun:
                marks.append(LoggedMark(event.vt, None))
            begun = True
        else:
            marks.append(LoggedMark(event.vt, event))
    return marks


def marks_of_trace(events: Iterable[TraceEvent]) -> list[LoggedMark]:
    """Return the times in a trace. Raises ValueError for an invalid request, wait or end."""
    marks = []
    for event in events:
        if event.type in FRAMES:
            fields = {name: value for name, value in event.data.items() if name not in _NOWHERE}
            try:
                marks.append(LoggedMark(event.timestamp, FRAMES[event.type].model_validate_json(to_json(fields))))
            except ValidationError as error:
                raise ValueError(f"an event {event.type} is none: {error.errors()[0]['msg']}") from None
        elif event.type not in SECONDARY:
            marks.append(LoggedMark(event.timestamp, None))
    return marks


def logged(head: Sequence[Event], game: Sequence[Event], marks: Iterable[LoggedMark]) -> EventLog:
    """Return the log of a game: its opening, then turns and notes at the recorded times, or at the last known one."""
    log = EventLog()
    for event in head:
        log.append(event, vt=0)
    for vt, event in _merged(game, marks):
        log.append(event, vt=vt)
    return log


def dated(told: Sequence[Told], length: int, marks: Iterable[LoggedMark]) -> Iterator[TraceEvent]:
    """Yield the events of a trace with their times; `length` is the number of turns and notes of the log."""
    by_place: dict[int, list[Told]] = {}
    for one in told:
        by_place.setdefault(one.place, []).append(one)
    yield from (TraceEvent(type=one.type, timestamp=0, data=one.data) for one in by_place.get(-1, ()))
    for vt, item in _merged(range(length), marks):
        if isinstance(item, Event):
            frame = item.model_dump(mode="json", exclude=_SEALED)
            yield TraceEvent(type=item.type, timestamp=vt, data={**_NOWHERE, **frame})
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
