"""Export of traces, and the comparison of a trace with its replay (docs/calendar.md, traces).

An export replays the log's own replies and compares every note with the log. A replay computes everything again from the
scenario, options, replies and times of the file. Every value of the file that deviates is reported as a difference, with its
path. Data that only the record has (players, tokens, reasoning, wall-clock times) cannot be checked.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import UsageError, quoted
from harness.records import first_problem
from parley.families.calendar.trace.game import (
    ENDS,
    GameRecord,
    Given,
    ReplyNotes,
    Retold,
    cost_scale,
    marks_of_log,
    marks_of_trace,
    rebuilt,
    retold,
)
from parley.families.calendar.trace.model import (
    ASKING,
    OPENING,
    SCHEMA,
    Trace,
    TraceConfig,
    TracedRecord,
    TracedTask,
    TraceEvent,
)
from parley.reports.reading import RecordedEpisode
from parley.reports.reading.model import Replayed
from worlds.core.events import Closed, Event, Noted, Opened, Seated, Turned, canonical_json
from worlds.core.models import Lenient
from worlds.core.turns import Answer

_GAMES = uuid.UUID("5b0d9c0e-6f0c-5a55-8f0e-6a2f4f1c9a11")
"""The namespace of game ids."""


def exported(episode: RecordedEpisode, digest: str = "") -> Trace:
    """Return the trace of an episode; `digest` is that of its task's folder. Raises UsageError without a sound game."""
    record = _record(episode, digest)
    try:
        again = retold(record)
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise _refusal(episode, f"what was played cannot be read: {str(error).partition(chr(10))[0]}") from None
    _check(episode, again.log.events)
    result = episode.result
    times = [said.said_at for one in episode.conversations for said in one.utterances if said.said_at]
    return _trace(
        record,
        again,
        tool={"name": "parley-bench", "version": version("parley-bench")},
        game_id=str(uuid.uuid5(_GAMES, f"{result.run} {result.key.name} {again.log.trace_hash}")),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )


def _trace(record: GameRecord, again: Retold, **told: Any) -> Trace:
    """Return the trace of a game. Data that no rule determines come from the record."""
    return Trace(
        schema=SCHEMA if again.measures.reflection is None else ASKING,
        task_id=record.config.task.id,
        task_digest=record.config.task.digest,
        cost_scale=cost_scale(record.scenario),
        config=record.config,
        events=again.events,
        final_state=again.final,
        metrics=again.measures.model_dump(mode="json"),
        trace_hash=again.log.trace_hash,
        stopped=again.measures.ended_by,
        **told,
    )


def _record(episode: RecordedEpisode, digest: str) -> GameRecord:
    """Return the parts of the game from the log. Raises UsageError if the log has no game."""
    log = episode.events
    opened = next((event for event in log if isinstance(event, Opened)), None)
    seated = next((event for event in log if isinstance(event, Seated)), None)
    start = next((event for event in log if isinstance(event, Noted)), None)
    if opened is None or seated is None or start is None or not isinstance(start.data.get("scenario"), dict):
        raise _refusal(episode, "the game never began")
    if any(isinstance(event, Closed) and event.cause == "fault" for event in log):
        raise _refusal(episode, "its world failed, so the rules cannot replay it")
    config = TraceConfig(
        task=TracedTask(id=opened.task_id, digest=digest, family=opened.family, category=opened.category),
        attempt=episode.result.attempt,
        public=seated.public,
        scenario=start.data["scenario"],
        record=TracedRecord.model_validate(episode.result.model_dump(include=set(TracedRecord.model_fields))),
        **opened.model_dump(include=OPENING),
    )
    # as in the record of each seat
    sent = {one.seat: one.utterances[0].text for one in episode.conversations if one.utterances}
    turns = [event for event in log if isinstance(event, Turned)]
    replies = {turn.turn: Given(Answer(turn.reply, turn.no_reply), turn.text) for turn in turns}
    return GameRecord(
        config,
        seated.seats,
        tuple(sent.get(seat, rules) for seat, rules in enumerate(seated.seats)),
        lambda turn: replies.get(turn.id),
        dict(_said(episode)),
        marks_of_log(log),
    )


def _said(episode: RecordedEpisode) -> Iterator[tuple[str, ReplyNotes]]:
    """Yield the recorded data of each reply, by turn."""
    for conversation in episode.conversations:
        ended = [(one.moment.turn, one) for one in conversation.utterances if one.speaker == "agent" and one.moment is not None]
        took = iter(_latencies(episode, conversation.seat, sum(one.usage is not None for _, one in ended)))
        for turn, said in ended:
            seconds = next(took, None) if said.usage is not None else None
            text = said.text if said.forfeit is not None else None
            yield turn, ReplyNotes(text, said.reasoning, said.usage, seconds and round(seconds * 1000, 1))


def _latencies(episode: RecordedEpisode, seat: int | None, replies: int) -> Sequence[float]:
    """Return real seconds of each reply of a seat's model, in order; empty if the record does not have one for each."""
    held = next((one for one in episode.result.seats if one.seat == seat), None)
    # records of older versions have only the sum
    seconds = held.latencies_s if held else ()
    return seconds if len(seconds) == replies else ()


def _check(episode: RecordedEpisode, again: Sequence[Event]) -> None:
    """Raise UsageError for the first event of the log that does not follow from the rules and its replies."""
    for event, meant in zip(episode.events, again, strict=False):
        if _content(event) != _content(meant):
            raise _refusal(episode, f"event {event.seq} of its log differs from the event that a replay of its replies gives")
    if len(again) != len(episode.events):
        raise _refusal(episode, f"its log has {len(episode.events)} events, a replay of its replies gives {len(again)}")


def _content(event: Event) -> bytes:
    told: Mapping[str, object] = event.model_dump(mode="json", exclude={"seq", "prev", "hash"})
    return canonical_json(told)


def _refusal(episode: RecordedEpisode, why: str) -> UsageError:
    return UsageError(f"{episode.path} has no trace: {why}", hint=f"harness show {quoted(episode.path)}")


_SHOWN = 80


def differences(told: Any, meant: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each value of `told` that differs from `meant`; 1 and 1.0 are equal, true is not a number."""
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
    """Placeholder for the value of a missing key."""


def _line(path: str, told: Any, meant: Any) -> str:
    return f"{path}: {_brief(told)} in the file, {_brief(meant)} by the rules"


def _brief(value: Any) -> str:
    if value is _Absent:
        return "nothing"
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."


Shape = TypeVar("Shape", bound=Lenient)
_CHECKED = (
    "final_state", "metrics", "events", "trace_hash", "schema", "task_id", "task_digest", "cost_scale", "stopped",
)  # fmt: skip
"""Parts of a file that follow from the rules, in the order in which they are reported."""

_RECORDED = {"tool", "game_id", "started_at", "ended_at"}
UNCHECKED = ("who played, tokens, latencies, what models thought, wall-clock times",)


class _Asked(Lenient):
    """Fields of a turn's beginning."""

    turn_id: str
    prompt_sent: str


class _Ended(Lenient):
    """Fields of a turn's end."""

    turn_id: str
    raw: str
    no_reply: str | None
    text: str | None
    reasoning: str | None
    usage: dict[str, Any] | None
    latency_ms: float | None

    @property
    def notes(self) -> ReplyNotes:
        """The recorded data beside the reply; a text only if the world rejected it."""
        return ReplyNotes(self.text if self.no_reply is not None else None, self.reasoning, self.usage, self.latency_ms)


class _Registered(Lenient):
    """Fields of an agent."""

    system_prompt: str
    world_rules: str | None


def read_trace(document: Any) -> Trace:
    """Return a trace of ours. Raises UsageError naming the error."""
    try:
        return Trace.model_validate(document)
    except ValidationError as error:
        raise UsageError(f"this is no {SCHEMA}: {first_problem(error)}", hint="harness export trace RUN --out DIR") from None


def record_of(trace: Trace) -> GameRecord:
    """Return the parts of the game in a trace. Raises UsageError for an event that lacks a field of its type."""
    registered = [_read(_Registered, event) for event in trace.events if event.type == "agent_registered"]
    asked = [_read(_Asked, event) for event in trace.events if event.type.endswith("_start") and "turn_id" in event.data]
    prompts = {one.turn_id: one.prompt_sent for one in asked}
    ended = [_read(_Ended, event) for event in trace.events if event.type in ENDS]
    given = {one.turn_id: Given(Answer(one.raw, one.no_reply), prompts.get(one.turn_id, "")) for one in ended}
    try:
        return GameRecord(
            config=trace.config,
            systems=tuple(one.system_prompt if one.world_rules is None else one.world_rules for one in registered),
            prompts=tuple(one.system_prompt for one in registered),
            replies=lambda turn: given.get(turn.id),
            said={one.turn_id: one.notes for one in ended},
            marks=marks_of_trace(trace.events),
        )
    except ValueError as error:
        raise UsageError(f"this is no {SCHEMA}: {error}") from None


def replay_trace(document: Any) -> Replayed:
    """Replay a trace of ours and compare everything. Raises UsageError if it cannot be read."""
    trace = read_trace(document)
    record = record_of(trace)
    again = rebuilt(record)
    meant = _trace(record, again, **trace.model_dump(include=_RECORDED)).model_dump(mode="json", by_alias=True)
    parts = {name: list(differences(document.get(name), meant[name], name)) for name in _CHECKED}
    measured, record_ = again.measures, trace.config.record
    title = f"{trace.task_id} s{trace.config.seed}-a{trace.config.attempt}, {record_.model or record_.agent}"
    return Replayed(
        title=f"{title}: {measured.scheduled} of {measured.meetings} meetings, reward {measured.reward:.4g}",
        agreed=tuple(_agreed({name: meant[name] for name, wrong in parts.items() if not wrong})),
        differences=tuple(line for wrong in parts.values() for line in wrong),
        unchecked=UNCHECKED,
    )


def _agreed(parts: Mapping[str, Any]) -> Iterator[str]:
    for name, what in (("final_state", "fields of the final state"), ("metrics", "measures"), ("events", "events")):
        if name in parts:
            yield f"{len(parts[name])} {what}"
    if "trace_hash" in parts:
        yield f"the log's hash {parts['trace_hash'][:12]}"


def _read(shape: type[Shape], event: TraceEvent) -> Shape:
    try:
        return shape.model_validate(event.data)
    except ValidationError as error:
        raise UsageError(f"this is no {SCHEMA}: an event {event.type}: {first_problem(error)}") from None
