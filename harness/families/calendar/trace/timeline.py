"""Times of a game, taken from a record, and what stands in a log around its turns: requests, waits, and how it ended.

The rules say what happens in which order; only the record says when. `marks_of_log` and `marks_of_trace` read the times off a
log and off a trace, `logged` and `dated` put them to a game that was told anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import to_json

from harness.families.calendar.trace.model import TraceEvent
from harness.families.calendar.trace.telling import SECONDARY, Told
from worlds.core.events import Closed, Event, EventLog, Noted, Opened, Requested, Seated, Stopped, Turned, Waited

FRAMES: Mapping[str, type[Event]] = {"request": Requested, "wait": Waited, "closed": Closed, "stop": Stopped}
"""Events of a log that are none of the game's, by their type there and in a trace."""

_SEALED = {"seq", "vt", "prev", "hash", "type"}
_NOWHERE: dict[str, Any] = {"round": None, "turn": None, "phase": None, "agent_id": None}


class LoggedMark(NamedTuple):
    """The time of one event of a log; `frame` is the event itself where it is none of the game's."""

    vt: int
    frame: Event | None


def marks_of_log(events: Sequence[Event]) -> list[LoggedMark]:
    """The times of everything behind a log's opening, its session and the first note of its game."""
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
    """The times in a trace; raises ValueError for a request, a wait or an end that is none."""
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
    """The log of a game: what opens it, then its turns and notes at the times of a record; without one, at the last known."""
    log = EventLog()
    for event in head:
        log.append(event, vt=0)
    for vt, event in _merged(game, marks):
        log.append(event, vt=vt)
    return log


def dated(told: Sequence[Told], length: int, marks: Iterable[LoggedMark]) -> Iterator[TraceEvent]:
    """The events of a trace with their times; `length` counts the turns and notes that they were told of."""
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
    """The game's own events and the others, each at its time."""
    waiting, now = iter(game), 0
    for mark in marks:
        now = mark.vt
        if mark.frame is not None:
            yield now, mark.frame
        elif (event := next(waiting, None)) is not None:
            yield now, event
    for event in waiting:
        yield now, event
