"""From a recorded episode to its trace: the log's own replies played again, and every note held against the log.

A log that does not follow from its replies - of another version of the rules, or of a world that failed - is not exported.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

from pydantic import ValidationError

from harness.errors import UsageError, quoted
from harness.families.calendar.trace.game import GameRecord, by_turn, cost_scale, retold
from harness.families.calendar.trace.model import ASKING, SCHEMA, Trace, TraceConfig, TracedRecord, TracedTask, TraceTool
from harness.families.calendar.trace.telling import Given, ReplyNotes, marks_of_log
from harness.reading import RecordedEpisode
from harness.records import Result
from worlds.core.events import Closed, Event, Noted, Opened, Seated, Turned, canonical
from worlds.core.turns import Answer

_GAMES = uuid.UUID("5b0d9c0e-6f0c-5a55-8f0e-6a2f4f1c9a11")
"""The namespace of game ids."""


def exported(episode: RecordedEpisode, digest: str = "") -> Trace:
    """The trace of an episode; `digest` is that of its task's folder. Raises UsageError where the episode has no sound game."""
    record = _record(episode, digest)
    try:
        again = retold(record)
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise _refusal(episode, f"what was played cannot be read: {str(error).partition(chr(10))[0]}") from None
    _check(episode, again.log.events)
    result = episode.result
    times = [said.said_at for one in episode.conversations for said in one.utterances if said.said_at]
    return Trace(
        schema=SCHEMA if again.measures.reflection is None else ASKING,
        tool=TraceTool(name="parley-bench", version=version("parley-bench")),
        game_id=str(uuid.uuid5(_GAMES, f"{result.run} {result.key.name} {again.log.trace_hash}")),
        task_id=result.task_id,
        task_digest=digest,
        cost_scale=cost_scale(record.scenario),
        config=record.config,
        events=again.events,
        final_state=again.final,
        metrics=again.measures.model_dump(mode="json"),
        trace_hash=again.log.trace_hash,
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        stopped=again.measures.ended_by,
    )


def _record(episode: RecordedEpisode, digest: str) -> GameRecord:
    """What was played, out of the log; raises UsageError where it holds no game."""
    log = episode.events
    opened = next((event for event in log if isinstance(event, Opened)), None)
    seated = next((event for event in log if isinstance(event, Seated)), None)
    start = next((event for event in log if isinstance(event, Noted)), None)
    if opened is None or seated is None or start is None or not isinstance(start.data.get("scenario"), dict):
        raise _refusal(episode, "no game was begun")
    if any(isinstance(event, Closed) and event.cause == "fault" for event in log):
        raise _refusal(episode, "its world failed, so its rules do not say how it went")
    config = TraceConfig(
        task=TracedTask(id=opened.task_id, digest=digest, family=opened.family, category=opened.category),
        attempt=episode.result.attempt,
        public=seated.public,
        scenario=start.data["scenario"],
        record=_played(episode.result),
        **opened.model_dump(include={"seed", "epoch", "key_digest", "budgets", "options", "instruction"}),
    )
    turns = [event for event in log if isinstance(event, Turned)]
    replies = {turn.turn: Given(Answer(turn.reply, turn.no_reply), turn.text) for turn in turns}
    return GameRecord(
        config, seated.seats, _prompts(episode, seated), by_turn(replies), dict(_said(episode)), marks_of_log(log)
    )


def _prompts(episode: RecordedEpisode, seated: Seated) -> tuple[str, ...]:
    """What each seat was sent first, as its own record has it."""
    sent = {one.seat: one.utterances[0].text for one in episode.conversations if one.utterances}
    return tuple(sent.get(seat, rules) for seat, rules in enumerate(seated.seats))


def _played(result: Result) -> TracedRecord:
    return TracedRecord.model_validate(result.model_dump(include=set(TracedRecord.model_fields)))


def _said(episode: RecordedEpisode) -> Iterator[tuple[str, ReplyNotes]]:
    """What a trajectory knows of each reply, by turn."""
    for conversation in episode.conversations:
        ended = [one for one in conversation.utterances if one.speaker == "agent" and one.moment is not None]
        took = iter(_latencies(episode, conversation.seat, sum(one.usage is not None for one in ended)))
        for said in ended:
            if said.moment is not None:
                seconds = next(took, None) if said.usage is not None else None
                text = said.text if said.forfeit is not None else None
                yield said.moment.turn, ReplyNotes(text, said.reasoning, said.usage, seconds and round(seconds * 1000, 1))


def _latencies(episode: RecordedEpisode, seat: int | None, replies: int) -> Sequence[float]:
    """Real seconds of each reply of a seat's model, in order; none where the record has not one for each."""
    held = next((one for one in episode.result.seats if one.seat == seat), None)
    # records of older versions have the sum alone
    seconds = held.latencies_s if held else ()
    return seconds if len(seconds) == replies else ()


def _check(episode: RecordedEpisode, again: Sequence[Event]) -> None:
    """Raise UsageError for the first event of the log that the rules, given its replies, do not give."""
    for event, meant in zip(episode.events, again, strict=False):
        if _content(event) != _content(meant):
            raise _refusal(episode, f"event {event.seq} of its log is not what its replies come to by these rules")
    if len(again) != len(episode.events):
        raise _refusal(episode, f"its log has {len(episode.events)} events, by these rules there are {len(again)}")


def _content(event: Event) -> bytes:
    told: Mapping[str, object] = event.model_dump(mode="json", exclude={"seq", "prev", "hash"})
    return canonical(told)


def _refusal(episode: RecordedEpisode, why: str) -> UsageError:
    return UsageError(f"{episode.path} has no trace: {why}", hint=f"harness show {quoted(episode.path)}")
