"""A trace played again from itself alone, and held against itself.

1. The scenario, the options and the agents' rules are those of the file, and so are replies and times. Everything else -
   events, final state, measures, the hash of the log - is made anew: by the world's rules, the validators and the oracles, as
   for a game that is played now. The certificate, and with it every optimum, is computed anew too.
2. What the file says otherwise is a difference, by its path. The hash of the log covers every byte that was said and
   delivered.
3. What only the record knows (who played, tokens, what models thought, wall-clock times) nothing can say again.

Where two JSON values differ, by path: what the file says, and what it should say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import UsageError
from harness.families.calendar.trace.game import GameRecord, Retold, by_turn, cost_scale, rebuilt
from harness.families.calendar.trace.model import ASKING, SCHEMA, Trace, TraceEvent
from harness.families.calendar.trace.telling import ENDS, Given, ReplyNotes, marks_of_trace
from harness.reading.traces import Replayed
from harness.records import first_problem
from worlds.core.models import Lenient
from worlds.core.turns import Answer

_SHOWN = 80
NOTHING = "nothing"


def differences(told: Any, meant: Any, path: str = "") -> Iterator[str]:
    """One line for each value of `told` that is not what is `meant`; 1 and 1.0 are one number, true is none."""
    if isinstance(told, dict) and isinstance(meant, dict):
        for key in [*meant, *(key for key in told if key not in meant)]:
            below = f"{path}.{key}" if path else str(key)
            if key in told and key in meant:
                yield from differences(told[key], meant[key], below)
            else:
                yield _line(below, told.get(key, _Absent), meant.get(key, _Absent))
    elif isinstance(told, list) and isinstance(meant, list):
        for place, (one, other) in enumerate(zip(told, meant, strict=False)):
            yield from differences(one, other, f"{path}[{place}]")
        if len(told) != len(meant):
            yield f"{path}: {len(told)} entries in the file, {len(meant)} by the rules"
    elif isinstance(told, bool) is not isinstance(meant, bool) or told != meant:
        yield _line(path, told, meant)


class _Absent:
    """What a key stands for that is not there."""


def _line(path: str, told: Any, meant: Any) -> str:
    return f"{path}: {_brief(told)} in the file, {_brief(meant)} by the rules"


def _brief(value: Any) -> str:
    if value is _Absent:
        return NOTHING
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."


Shape = TypeVar("Shape", bound=Lenient)
UNCHECKED = ("who played, tokens, latencies, what models thought, wall-clock times",)


class _Asked(Lenient):
    """Of a turn's beginning."""

    turn_id: str
    prompt_sent: str


class _Ended(Lenient):
    """Of a turn's end."""

    turn_id: str
    raw: str
    no_reply: str | None
    text: str | None
    reasoning: str | None
    usage: dict[str, Any] | None
    latency_ms: float | None


class _Registered(Lenient):
    """Of an agent."""

    system_prompt: str
    world_rules: str | None


def read_trace(document: Any) -> Trace:
    """A trace of ours; raises UsageError naming what is wrong in it."""
    try:
        return Trace.model_validate(document)
    except ValidationError as error:
        raise UsageError(f"this is no {SCHEMA}: {first_problem(error)}", hint="harness export trace RUN --out DIR") from None


def record_of(trace: Trace) -> GameRecord:
    """The parts of the game in a trace; raises UsageError for an event that lacks what its type has."""
    registered = [_read(_Registered, event) for event in trace.events if event.type == "agent_registered"]
    asked = [_read(_Asked, event) for event in trace.events if event.type.endswith("_start") and "turn_id" in event.data]
    prompts = {one.turn_id: one.prompt_sent for one in asked}
    ended = [_read(_Ended, event) for event in trace.events if event.type in ENDS]
    try:
        return GameRecord(
            config=trace.config,
            systems=tuple(one.system_prompt if one.world_rules is None else one.world_rules for one in registered),
            prompts=tuple(one.system_prompt for one in registered),
            replies=by_turn({o.turn_id: Given(Answer(o.raw, o.no_reply), prompts.get(o.turn_id, "")) for o in ended}),
            said=dict(_said(ended)),
            marks=marks_of_trace(trace.events),
        )
    except ValueError as error:
        raise UsageError(f"this is no {SCHEMA}: {error}") from None


def replay_trace(document: Any) -> Replayed:
    """Play a trace of ours again and compare everything; raises UsageError for one that cannot be read."""
    trace = read_trace(document)
    record = record_of(trace)
    again = rebuilt(record)
    meant = _meant(record, again)
    parts = {name: list(differences(document.get(name), meant[name], name)) for name in meant}
    measured, record_ = again.measures, trace.config.record
    title = f"{trace.task_id} s{trace.config.seed}-a{trace.config.attempt}, {record_.model or record_.agent}"
    return Replayed(
        title=f"{title}: {measured.scheduled} of {measured.meetings} meetings, reward {measured.reward:.4g}",
        agreed=tuple(_agreed({name: meant[name] for name, wrong in parts.items() if not wrong})),
        differences=tuple(line for wrong in parts.values() for line in wrong),
        unchecked=UNCHECKED,
    )


def _meant(record: GameRecord, again: Retold) -> dict[str, Any]:
    """All of a file that rules can say, in the order in which it is told."""
    return {
        "final_state": again.final.model_dump(mode="json"),
        "metrics": again.measures.model_dump(mode="json"),
        "events": [event.model_dump(mode="json") for event in again.events],
        "trace_hash": again.log.trace_hash,
        "schema": SCHEMA if again.measures.reflection is None else ASKING,
        "task_id": record.config.task.id,
        "task_digest": record.config.task.digest,
        "cost_scale": cost_scale(record.scenario).model_dump(mode="json"),
        "stopped": again.measures.ended_by,
    }


def _agreed(parts: Mapping[str, Any]) -> Iterator[str]:
    for name, what in (("final_state", "fields of the final state"), ("metrics", "measures"), ("events", "events")):
        if name in parts:
            yield f"{len(parts[name])} {what}"
    if "trace_hash" in parts:
        yield f"the log's hash {parts['trace_hash'][:12]}"


def _said(ended: Iterable[_Ended]) -> Iterator[tuple[str, ReplyNotes]]:
    for one in ended:
        yield one.turn_id, ReplyNotes(one.text if one.no_reply is not None else None, one.reasoning, one.usage, one.latency_ms)


def _read(shape: type[Shape], event: TraceEvent) -> Shape:
    try:
        return shape.model_validate(event.data)
    except ValidationError as error:
        raise UsageError(f"this is no {SCHEMA}: an event {event.type}: {first_problem(error)}") from None
