"""Reader of a game's events in a log, which compares each event with what the rules say must come next.

1. A note whose data differ from the rules is a lie; the replay goes on with the data of the rules.
2. An event that is impossible at its place ends the replay (`Lost`), because what follows could only be guessed.
3. A log may end after a seat was asked and before it answered (`Unanswered`): the game was stopped, or no agent played on.
`cache_by_trace` caches replays, so a game is rebuilt once although every test of a task asks for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn, TypeVar

from validators.episode import Episode
from worlds.core.events import Closed, Event, Noted, Stopped, Turned

_SHOWN = 160


def find_lies_at_end(episode: Episode) -> list[str]:
    """Return the errors in the end of a game's log."""
    lies = [f"seq {e.seq}: the world failed" for e in episode.events if isinstance(e, Closed) and e.cause == "fault"]
    ends = [e.seq for e in episode.events if isinstance(e, Closed | Stopped)]
    return lies + [f"seq {seq}: something follows the end" for seq in ends if seq != len(episode.events) - 1]


def find_measurement_lies(episode: Episode, phases: Collection[str]) -> list[str]:
    """Return errors for turns that are measurements only and should not be, or the reverse; `phases` are measurements."""
    return [
        f"seq {e.seq}: a turn of {e.phase[:20]} must {'' if e.phase in phases else 'not '}only measure"
        for e in episode.events
        if isinstance(e, Turned) and e.ephemeral is not (e.phase in phases)
    ]


class Lost(Exception):
    """The log cannot be followed any further."""


class Unanswered(Exception):
    """The log ends while seats were being asked."""


class Tape:
    """Turns and notes in order, and the lies found so far."""

    def __init__(self, events: Sequence[Event], *, measured: bool = False) -> None:
        """Select the events; `measured` is True if turns that are only measurements belong to the game."""
        self._stopped = bool(events) and isinstance(events[-1], Stopped)
        self._events = [e for e in events if isinstance(e, Noted) or (isinstance(e, Turned) and (measured or not e.ephemeral))]
        self._at = 0
        self._barrier = 0
        self.lies: list[str] = []

    @property
    def is_over(self) -> bool:
        """True if all events were read."""
        return self._at >= len(self._events)

    @property
    def _next(self) -> Event | None:
        """The next event; None if all were read."""
        return None if self.is_over else self._events[self._at]

    def record_lie(self, event: Event, what: str) -> None:
        """Record a wrong claim of `event`."""
        self.lies.append(f"seq {event.seq}: {what}")

    def is_next(self, what: str, seat: int | None) -> bool:
        """Return True if the next event is a note `what` of this seat."""
        event = self._next
        return isinstance(event, Noted) and event.what == what and event.seat == seat

    @property
    def next_data(self) -> Mapping[str, Any]:
        """The data of the next event if it is a note; empty for anything else."""
        event = self._next
        return event.data if isinstance(event, Noted) else {}

    def read_note(self, what: str, seat: int | None = None) -> Noted:
        """Return the next event, which must be a note `what` of this seat; raises Lost."""
        if (event := self._next) is None:
            raise Lost(f"the log ends where {_named(what, seat)} must follow")
        if not isinstance(event, Noted) or (event.what, event.seat) != (what, seat):
            raise Lost(f"seq {event.seq}: {_named(what, seat)} must stand here, not {_of(event)}")
        self._at += 1
        return event

    def check_note(self, what: str, seat: int | None, expected: Mapping[str, Any]) -> Noted:
        """Return the next event, which must be a note `what` of this seat; other data than `expected` are lies. Raises Lost."""
        note = self.read_note(what, seat)
        if is_same_json(note.data, expected):
            return note
        for key in sorted({*expected, *note.data}):
            if key not in note.data or key not in expected or not is_same_json(note.data[key], expected[key]):
                said, meant = (_brief(data[key]) if key in data else "nothing" for data in (note.data, expected))
                self.record_lie(note, f"{what}.{key} is {said}, by the rules it is {meant}")
        return note

    def read_turn_if(self, seat: int, phase: str, number: int, attempt: int = 1) -> Turned | None:
        """Return the next event if it is this turn, else None."""
        event = self._next
        if not isinstance(event, Turned) or (event.seat, event.phase, event.attempt) != (seat, phase, attempt):
            return None
        self._at += 1
        if event.no_reply is not None and event.reply:
            self.record_lie(event, "a turn that was forfeited has a reply")
        if event.round != number:
            self.record_lie(event, f"the turn is said to be of round {event.round}, it is of {number}")
        return event

    def read_turn(self, seat: int, phase: str, number: int) -> Turned:
        """Return the next event, which must be this seat's first answer; raises Unanswered at the end of the log, or Lost."""
        turn = self.read_turn_if(seat, phase, number)
        if turn is not None:
            return turn
        if (event := self._next) is None:
            raise Unanswered
        raise Lost(f"seq {event.seq}: a turn of seat {seat} in {phase} must stand here, not {_of(event)}")

    def next_seat(self, present: Collection[int], phase: str) -> int:
        """Return the seat that speaks next, one of `present`; raises Unanswered at the end of the log, or Lost."""
        if (event := self._next) is None:
            raise Unanswered
        if not isinstance(event, Turned) or event.phase != phase or event.seat not in present:
            raise Lost(f"seq {event.seq}: a turn of {sorted(present)} in {phase} must stand here, not {_of(event)}")
        return event.seat

    def check_broken_off(self, what: str) -> NoReturn:
        """Raise Unanswered if the log ends while seats were being asked and the game was stopped, else Lost."""
        if (event := self._next) is not None:
            raise Lost(f"seq {event.seq}: {what} is not over, and {_of(event)} follows")
        if not self._stopped:
            raise Lost(f"the log ends in {what}, and nobody stopped the game")
        raise Unanswered

    def check_barrier(self, turns: Iterable[Turned]) -> None:
        """Check the names of turns that were open together: `barrier-seat-attempt`, with ascending barriers."""
        last = self._barrier
        for turn in turns:
            number, _, rest = turn.turn.partition("-")
            known = number.isascii() and number.isdecimal() and len(number) < 10
            if not known or rest != f"{turn.seat}-{turn.attempt}" or int(number) <= last:
                self.record_lie(turn, f"no turn of seat {turn.seat} can be named {turn.turn[:40]!r} here")
            elif self._barrier not in (last, int(number)):
                self.record_lie(turn, f"turn {turn.turn} was open together with others of barrier {self._barrier}")
            else:
                self._barrier = int(number)

    def record_rest(self) -> None:
        """Record the remaining events, if any, as a lie."""
        if (event := self._next) is not None:
            self.record_lie(event, f"the game is over, and {_of(event)} follows")


def is_same_json(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal; 1, 1.0 and true are three different values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return bool(one == other)


def _named(what: str, seat: int | None) -> str:
    return f"a note {what!r}" + ("" if seat is None else f" of seat {seat}")


def _of(event: Event) -> str:
    if isinstance(event, Noted):
        return _named(event.what[:40], event.seat)
    assert isinstance(event, Turned)
    return f"attempt {event.attempt} of seat {event.seat} in {event.phase[:40]}"


def _brief(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."


T = TypeVar("T")
_KEPT = 128


def cache_by_trace(rebuild: Callable[[Episode], T]) -> Callable[[Episode], T]:
    """Cache the results of `rebuild` for the last logs by trace hash, which identifies the content of a log."""
    recent: OrderedDict[str, T] = OrderedDict()

    @wraps(rebuild)
    def rebuilt_once(episode: Episode) -> T:
        if episode.trace_hash not in recent:
            recent[episode.trace_hash] = rebuild(episode)
            if len(recent) > _KEPT:
                recent.popitem(last=False)
        recent.move_to_end(episode.trace_hash)
        return recent[episode.trace_hash]

    return rebuilt_once
