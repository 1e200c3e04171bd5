"""What happened in a game, told as the events of a trace (paper, Table 5; specification 11).

1. Each turn and each note of the world's log is one event, in its order; a turn's beginning, what was rolled back, which
   meeting was broken and by whom are events beside it. `Told.place` says to which of the log each belongs.
2. What a reply came to - actions, batches, calendars, conflicts - is worked out here from the rules. What only the record
   knows of a reply (what a model thought, tokens) is laid beside it.
3. A kind of note that this version does not know is told under its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from harness.families.calendar.trace.rerun import SeatAsked
from worlds.calendar.mail import TOOLS
from worlds.calendar.reflection import PHASE as REFLECTION
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.items import Cells, drawn, slot_of
from worlds.calendar.rules.replies import read_actions, scores_shape
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.calendar.state import GameState
from worlds.core.events import Noted, Turned
from worlds.core.mending import mend
from worlds.core.replies import read_answer
from worlds.core.reply_parts import load

TALK, DECISION = "CHEAP_TALK", "DECISION"
SENT = {channel: f"{tool}_sent" for tool, channel in TOOLS.items()}
"""Channel -> the type of event."""

TOOL_OF = {channel: tool for tool, channel in TOOLS.items()}
SECONDARY = frozenset(
    {"game_start", "agent_registered", "turn_start", "decide_start", "measure_start", "decision_failed"}
    | {"batch_rolled_back", "consistency_violation"}
)
"""Types that stand beside what the log has; every other type is an event of the log."""

ENDS = frozenset({"turn_end", "decide_end", "measure_end"})
"""Types that hold a reply."""


class ReplyNotes(NamedTuple):
    """What a record knows of one reply beside its text."""

    text: str | None = None
    """What a model said, where the world did not take it."""

    reasoning: str | None = None
    usage: Mapping[str, Any] | None = None
    latency_ms: float | None = None


class Told(NamedTuple):
    """One event without its time; `place` counts the turns and notes of the log from 0."""

    place: int
    type: str
    data: dict[str, Any]


class Teller:
    """Hears a game and tells it; `log` is what its log would hold, `told` what its trace does."""

    def __init__(self, scenario: Scenario, settings: Settings, said: Mapping[str, ReplyNotes]) -> None:
        self.log: list[Turned | Noted] = []
        self.told: list[Told] = []
        self._scenario, self._settings, self._said = scenario, settings, said
        self._meeting: Meeting | None = None
        self._round: int | None = None
        self._sweep = 0
        self._canonical: dict[int, int] = {meeting.id: meeting.slot for meeting in scenario.prior}
        """Where each meeting that stood was seen last."""

        self._exhausted: set[int] = set()
        self._blocked: set[int] = set()
        self._staged = False
        """Whether a batch of the round was applied that may be undone."""

        self._committed: tuple[Cells, ...] | None = None
        """All calendars after the last batch of the round, before anything of it is undone."""

    def turned(self, turn: Turned, asked: SeatAsked) -> None:
        """A turn: its beginning and its end."""
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
        """A note, as whatever it is called in a trace."""
        self.log.append(note)
        tell = self._NOTES.get(note.what, Teller._other)
        tell(self, note, state)

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        self.told.append(Told(len(self.log) - 1, kind, data))

    def _where(self, agent: int | None, phase: str | None, turn: int | None = None) -> dict[str, Any]:
        return {"round": self._round, "turn": turn, "phase": phase, "agent_id": agent}

    def _reply(self, turn: Turned) -> dict[str, Any]:
        """A reply as it was read, beside the text itself."""
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
        """An event for each participant whose calendar has an earlier meeting elsewhere, or not at all."""
        canonical = self._canonical[number]
        for agent in self._scenario.meeting(number).participants:
            slot = slot_of(calendars[agent], number)
            if slot != canonical:
                told = {"meeting_id": number, "canonical_slot": canonical, "agent_slot": slot}
                self._tell("consistency_violation", {**self._where(agent, "RESOLUTION"), **told})

    def _rolled_back(self, *, kept: bool) -> str | None:
        """Why batches that were valid do not stand, if some do not."""
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
    """A message as it lies in an inbox."""
    data, to = note.data, note.data["to"]
    told = {"to_agent": to[0]} if data["channel"] == "dm" else {"to_agents": to}
    content = {"meeting_id": data["meeting"], "content": data["content"], "channel": TOOL_OF[data["channel"]]}
    return {"from_agent": note.seat, **told, **content}
