"""Import of traces of the paper's own harness (Appendix A.6, without our schema) as games under the profile `paper`.

Such a file has no scenario: calendars are read from the registration of each agent, meetings and speakers from the rounds that
began. Replies are used as received if they parse as the recorded actions, and otherwise rewritten from these actions. A second
try may have no event of its own; then the rejected or the applied batch is used. Times of the file are wall-clock times and are
ignored. A replay does not compare measures, because the released code's formulas differ (docs/calendar.md).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from harness.errors import UsageError
from harness.records import SeatResult, first_problem
from parley.families.calendar.trace.exporting import differences
from parley.families.calendar.trace.game import GameRecord, Given, LoggedMark, Retold, rebuilt, unplayable
from parley.families.calendar.trace.model import TraceConfig, TracedRecord, TracedTask, TraceEvent
from parley.reports.reading.model import Replayed
from worlds.calendar.game import TOOLS
from worlds.calendar.options import BUDGETS, OPTIONS
from worlds.calendar.rules.items import Cells, Item, iter_items, read_lines
from worlds.calendar.rules.replies import read_actions
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.events import Noted, Stopped, Turned, canonical_json
from worlds.core.mending import mend
from worlds.core.models import Lenient
from worlds.core.turns import Answer, OpenTurn

SCALE = {1: 1, 10: 2, 100: 3}
MOST_TURNS, RETRIES = 20, 3
"""The released code's own defaults."""

_SENT = tuple(f"{tool}_sent" for tool in TOOLS)
_CHANNELS = {**TOOLS, "groupchat": "all"}
_LABEL = re.compile(r"^Slot +(\d+): .* private_label='(.*)'$", re.MULTILINE)
_EPOCH = "1970-01-01T00:00:00+00:00"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")


class UpstreamEvent(Lenient):
    """An event; its time is ignored."""

    type: str
    data: dict[str, Any] = {}


class UpstreamTrace(Lenient):
    """A file of the published layout."""

    game_id: str = ""
    config: dict[str, Any] = {}
    events: tuple[UpstreamEvent, ...]
    final_state: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    started_at: str | None = None
    stopped: Any = None

    def of(self, *kinds: str) -> Iterator[dict[str, Any]]:
        """Return the data of the events of some types, in order."""
        return (event.data for event in self.events if event.type in kinds)

    @property
    def cause(self) -> str:
        """Cause of an unfinished game's end, as a log names it."""
        return self.stopped if isinstance(self.stopped, str) and self.stopped else "imported"


@dataclass
class UpstreamReplies:
    """Replies of each agent, by round and phase, consumed in their order."""

    waiting: dict[tuple[int, str, int], list[Given]] = field(default_factory=dict)
    over: frozenset[int] = frozenset()
    """The rounds that ended; in these a missing reply is not the end of the game."""

    _taken: dict[str, Given] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    """Turns of finished rounds without a reply in the file."""

    def __call__(self, turn: OpenTurn) -> Given | None:
        """Return the next reply of this agent; an empty reply if a finished round has none, None at the end of the game."""
        if turn.id not in self._taken:
            said = self.waiting.get((turn.round, turn.phase, turn.seat))
            if not said and turn.round not in self.over:
                return None
            if not said:
                self.missing.add(turn.id)
            self._taken[turn.id] = said.pop(0) if said else Given(Answer(_reply({}, [])), "")
        return self._taken[turn.id]


def read_upstream(document: Any) -> UpstreamTrace:
    """Return a file of the published layout. Raises UsageError for anything else."""
    try:
        return UpstreamTrace.model_validate(document)
    except ValidationError as error:
        raise UsageError(f"this is no trace in the published layout: {first_problem(error)}") from None


def is_upstream(document: Any) -> bool:
    """Return True if a document has the published layout: events that register agents, and no schema of ours."""
    if not isinstance(document, dict) or "schema" in document or not isinstance(document.get("events"), list):
        return False
    return any(isinstance(event, dict) and event.get("type") == "agent_registered" for event in document["events"])


def _record(trace: UpstreamTrace) -> GameRecord:
    try:
        scenario = _scenario(trace)
        made = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        config = _config(trace, scenario, made)
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"no game can be made of this trace: {unplayable(error)}") from None
    systems = tuple(str(one.get("system_prompt", "")) for one in _agents(trace))
    return GameRecord(config, systems, systems, _replies(trace), {}, ())


def upstream_game(trace: UpstreamTrace) -> tuple[GameRecord, Retold]:
    """Return the game in a file of the published layout, and its replay; an unfinished game is stopped after its last reply."""
    record = _record(trace)
    again = rebuilt(record)
    if not again.measures.finished:
        played = sum(isinstance(event, Turned | Noted) for event in again.log.events) - 1
        marks = [*[LoggedMark(0, None)] * played, LoggedMark(0, Stopped(cause=trace.cause))]
        record = replace(record, marks=marks)
        again = rebuilt(record)
    return record, again


def _agents(trace: UpstreamTrace) -> list[dict[str, Any]]:
    return sorted(trace.of("agent_registered"), key=lambda data: int(data["agent_id"]))


def _scenario(trace: UpstreamTrace) -> Scenario:
    renders = [str(one["calendar_render"]) for one in _agents(trace)]
    calendars = [read_lines(render) for render in renders]
    errands = tuple(tuple(_errands(*one)) for one in zip(calendars, renders, strict=True))
    meetings = tuple(_meeting(one) for one in trace.of("round_start"))
    if len({len(cells) for cells in calendars}) != 1 or not meetings:
        raise ValueError("calendars must be of one length, and a round must have begun")
    costs = {errand.cost for mine in errands for errand in mine} | {meeting.cost for meeting in meetings}
    return Scenario(
        slots=len(calendars[0]),
        errands=errands,
        meetings=meetings,
        prior=tuple(_prior(calendars)),
        scale=SCALE if costs <= set(SCALE) and len(costs) > 1 else {},
        origin={"imported": "CalBench trace", "game_id": trace.game_id},
    )


def _errands(cells: Cells, render: str) -> Iterator[Errand]:
    labels = {int(slot): label for slot, label in _LABEL.findall(render)}
    for slot, item in iter_items(cells):
        if item.kind == "errand":
            yield Errand(slot=slot, id=item.id, cost=item.cost, blocked=item.blocked, label=labels.get(slot, ""))


def _prior(calendars: Iterable[Cells]) -> Iterator[PriorMeeting]:
    """Yield the meetings scheduled before the first round, each once."""
    standing: dict[int, tuple[int, Item]] = {}
    for cells in calendars:
        standing |= {item.id: (slot, item) for slot, item in iter_items(cells) if item.kind == "meeting"}
    for number, (slot, item) in sorted(standing.items()):
        yield PriorMeeting(id=number, participants=item.participants, cost=item.cost, duration=item.duration, slot=slot)


def _meeting(data: Mapping[str, Any]) -> Meeting:
    shown = data["meeting"]
    order = data.get("speaker_order") or shown.get("speaker_order") or ()
    number = shown["id"] if "id" in shown else shown["meeting_id"]
    return Meeting(
        id=number, participants=tuple(sorted(shown["participants"])), speakers=tuple(order),
        duration=shown.get("duration", 1), cost=shown.get("cost", 1),
    )  # fmt: skip


def _config(trace: UpstreamTrace, scenario: Scenario, made: dict[str, Any]) -> TraceConfig:
    digest = hashlib.sha256(canonical_json(made)).hexdigest()
    start = next(trace.of("game_start"), {})
    named = _find(trace.config, "task_id") or start.get("task_id")
    name = _UNSAFE.sub("-", named).lstrip("-.+")[:128] if isinstance(named, str) else ""
    seed = start.get("seed", _find(trace.config, "seed"))
    changed = {"profile": "paper", "turn_cap": _cap(trace), **_told_options(trace, start)}
    return TraceConfig(
        task=TracedTask(id=name or f"imported-{digest[:12]}", digest=digest, family="calendar", category="none"),
        seed=seed if isinstance(seed, int) and seed >= 0 else 0,
        attempt=1,
        epoch=trace.started_at or _EPOCH,
        key_digest=key_digest(PUBLISHED_KEY),
        budgets={"steps": BUDGETS.steps, "virtual_ms": BUDGETS.virtual_ms},
        options={**{name: option.default for name, option in OPTIONS.items() if not option.quiet}, **changed},
        instruction="",
        public={"agents": len(scenario.agents), "slots": scenario.slots, "profile": "paper", "sd_model": ""},
        scenario=made,
        record=_played(trace, changed),
    )


def _told_options(trace: UpstreamTrace, start: Mapping[str, Any]) -> dict[str, Any]:
    retries = _find(trace.config, "decision_retries")
    told = start.get("communication_protocol", _find(trace.config, "communication_protocol"))
    words = re.split(r"[^a-z_]+", told) if isinstance(told, str) else told if isinstance(told, list) else []
    channels = {_CHANNELS[word] for word in words if word in _CHANNELS} or {"dm"}
    ordered = [channel for channel in ("dm", "participants", "all") if channel in channels]
    return {"decision_retries": retries if isinstance(retries, int) else RETRIES, "channels": "+".join(ordered)}


def _cap(trace: UpstreamTrace) -> int:
    """Return the cap of turns: the configured one, or else the number of turns of a round whose last turn sent a message."""
    told = _find(trace.config, "max_turns_per_round")
    if isinstance(told, int) and told > 0:
        return told
    last: defaultdict[Any, int] = defaultdict(int)
    for data in trace.of("turn_end"):
        last[data.get("round")] = max(last[data.get("round")], int(data.get("turn") or 0))
    sent = {(data.get("round"), data.get("turn")) for data in trace.of(*_SENT)}
    cut = [turn + 1 for number, turn in last.items() if (number, turn) in sent]
    return min(cut, default=MOST_TURNS)


def _played(trace: UpstreamTrace, changed: Mapping[str, Any]) -> TracedRecord:
    seats = tuple(_seats(trace))
    names = list(dict.fromkeys(seat.name for seat in seats))
    models = {seat.model for seat in seats}
    return TracedRecord(
        run="imported",
        agent=names[0] if len(names) == 1 else "mixed",
        model=models.pop() if len(models) == 1 else None,
        runtime="imported",
        status="graded",
        options={name: value for name, value in changed.items() if OPTIONS[name].default != value},
        seats=seats,
    )


def _seats(trace: UpstreamTrace) -> Iterator[SeatResult]:
    """Yield the player of each seat, from the registration of agents or the start of the game."""
    start = next(trace.of("game_start"), {})
    for place, data in enumerate(_agents(trace)):
        model, kind = data.get("model") or _at(start.get("models"), place), _at(start.get("agent_types"), place)
        name = str(model or data.get("agent_type") or kind or "unknown")
        yield SeatResult(seat=place, kind="model" if model else "policy", name=name, model=name if model else None)


def _at(told: Any, place: int) -> Any:
    return told[place] if isinstance(told, list) and place < len(told) else None


def _replies(trace: UpstreamTrace) -> UpstreamReplies:
    """Return every reply, by the number of the round, the phase and the agent."""
    told = list(dict.fromkeys(data.get("round") for data in trace.of("round_start")))
    numbers = {name: place for place, name in enumerate(told, start=1)}
    replies: defaultdict[tuple[int, str, int], list[Given]] = defaultdict(list)
    tries: defaultdict[tuple[int, str, int], list[Given]] = defaultdict(list)
    prompt = ""
    for event in trace.events:
        data = event.data
        if event.type in {"turn_start", "decide_start"}:
            prompt = str(data.get("prompt_sent", ""))
        if data.get("round") not in numbers or not isinstance(data.get("agent_id"), int):
            continue
        place = numbers[data["round"]], str(data.get("phase") or "CHEAP_TALK"), data["agent_id"]
        if event.type in {"turn_end", "decide_end"}:
            replies[place].append(Given(Answer(_reply(data, data.get("tool_calls"))), prompt))
        elif event.type in {"batch_rejected", "batch_applied"}:
            tries[place].append(Given(Answer(_reply({}, data.get("actions"))), ""))
    for place, tried in tries.items():
        # further tries, without events of their own
        replies[place] += tried[len(replies[place]) :]
    over = {data.get("round") for data in trace.of("resolution")}
    return UpstreamReplies(replies, frozenset(number for name, number in numbers.items() if name in over))


def _reply(data: Mapping[str, Any], calls: Any) -> str:
    """Return a reply as received if it parses as the recorded actions; otherwise one that does."""
    actions = [_action(call) for call in calls] if isinstance(calls, list) else []
    raw = data.get("raw")
    if isinstance(raw, str) and (not isinstance(calls, list) or read_actions(raw, mend).value == actions):
        return raw
    return json.dumps({"thinking": data.get("thinking") or "", "actions": actions}, ensure_ascii=False)


def _action(call: Any) -> Any:
    """Return a tool call as an action; some clients record the arguments separately from the name."""
    if not isinstance(call, dict) or "type" in call:
        return call
    name, arguments = call.get("name") or call.get("tool"), call.get("arguments") or call.get("args") or {}
    return {"type": name, **arguments} if isinstance(arguments, dict) else call


def _find(config: Any, key: str) -> Any:
    """Return a value of a configuration by its key, at any depth; None if there is none."""
    if isinstance(config, dict) and key in config:
        return config[key]
    inside = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    return next((value for inner in inside if (value := _find(inner, key)) is not None), None)


_STATE = {
    "calendars": "calendars",
    "per_agent_cost": "per_agent_cost_shown",
    "per_agent_messages_sent": "per_agent_messages_sent",
    "per_agent_messages_received": "per_agent_messages_received",
}
"""Fields of the final state: the published name, and ours for the same value."""


def replay_upstream(document: Any) -> Replayed:
    """Replay a file of the published layout. Raises UsageError if it does not give a valid game."""
    trace = read_upstream(document)
    record, again = upstream_game(trace)
    wrong = tuple(differing(trace, again))
    measured, played = again.measures, record.config.record
    missing = record.replies.missing if isinstance(record.replies, UpstreamReplies) else ()
    guessed = [f"{len(missing)} replies are missing in the file and count as empty"] if missing else []
    return Replayed(
        title=f"{record.config.task.id}, {played.model or played.agent}, published layout: "
        f"{measured.scheduled} of {measured.meetings} meetings, reward {measured.reward:.4g}",
        agreed=() if wrong else tuple(f"{len(told)} {what}" for what, told in _told(trace.events).items()),
        differences=wrong,
        unchecked=("measures (other formulas)", "who played", "wall-clock times", *guessed),
    )


def differing(trace: UpstreamTrace, again: Retold) -> Iterator[str]:
    """Yield the differences between the file and a replay of its replies under the profile `paper`."""
    known = {name: _listed(trace.final_state[name]) for name in _STATE if name in trace.final_state}
    meant = {**_told(again.events), "final_state": {name: again.final[_STATE[name]] for name in known}}
    yield from differences({**_told(trace.events), "final_state": known}, meant)


def _told(events: Iterable[UpstreamEvent | TraceEvent]) -> dict[str, list[Any]]:
    """Return messages and rounds, reduced to the fields that both layouts have."""
    messages, rounds = [], []
    for event in events:
        kind, data = event.type, event.data
        if kind in _SENT:
            to = [data["to_agent"]] if data.get("to_agent") is not None else sorted(data.get("to_agents") or [])
            messages.append([data.get("from_agent"), to, data.get("content")])
        elif kind == "resolution":
            slots = data.get("per_agent_slot") or {}
            rounds.append({"per_agent_slot": {str(k): v for k, v in slots.items()}, "coordinated": data.get("coordinated")})
    return {"messages": messages, "rounds": rounds}


def _listed(value: Any) -> Any:
    """Return values by agent as a list, also if they are keyed by the agents' numbers."""
    if isinstance(value, dict) and all(str(key).isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value
