"""The game's own events of a log, read one after the other against what the rules say must come next.

1. A note whose data differ from what the rules give is a lie, and the rebuilding goes on with the rules' version.
2. An event that cannot be here at all ends the rebuilding (`Lost`): what follows would be guesswork.
3. A log may end where a seat was asked and has not answered (`Unanswered`): the game was stopped, or nobody played on.

A game is rebuilt from its log once, though every test of a task asks for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn, TypeVar

from validators.episode import Episode
from worlds.core.events import Closed, Event, Noted, Stopped, Turned

_SHOWN = 160


def lies_at_the_end(episode: Episode) -> list[str]:
    """Return what is wrong with how a game's log ends."""
    lies = [f"seq {e.seq}: the world failed" for e in episode.events if isinstance(e, Closed) and e.cause == "fault"]
    ends = [e.seq for e in episode.events if isinstance(e, Closed | Stopped)]
    return lies + [f"seq {seq}: something follows the end" for seq in ends if seq != len(episode.events) - 1]


def lies_of_measuring(episode: Episode, phases: Collection[str]) -> list[str]:
    """Return what is wrong with which turns only measure: those of these phases do, and no others."""
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
        """`measured` says whether turns that only measure are a part of the game."""
        self._stopped = bool(events) and isinstance(events[-1], Stopped)
        self._events = [e for e in events if isinstance(e, Noted) or (isinstance(e, Turned) and (measured or not e.ephemeral))]
        self._at = 0
        self._barrier = 0
        self.lies: list[str] = []

    @property
    def over(self) -> bool:
        """Whether everything was read."""
        return self._at >= len(self._events)

    def lie(self, event: Event, what: str) -> None:
        """Note that `event` claims something wrong."""
        self.lies.append(f"seq {event.seq}: {what}")

    def is_next(self, what: str, seat: int | None) -> bool:
        """Return whether the next event is such a note of this seat."""
        if self.over:
            return False
        event = self._events[self._at]
        return isinstance(event, Noted) and event.what == what and event.seat == seat

    @property
    def ahead(self) -> Mapping[str, Any]:
        """The data of the next event, a note; empty for anything else."""
        event = None if self.over else self._events[self._at]
        return event.data if isinstance(event, Noted) else {}

    def note(self, what: str, seat: int | None = None) -> Noted:
        """The next event, which must be such a note; raises Lost."""
        if self.over:
            raise Lost(f"the log ends where {_named(what, seat)} must follow")
        event = self._events[self._at]
        if not isinstance(event, Noted) or (event.what, event.seat) != (what, seat):
            raise Lost(f"seq {event.seq}: {_named(what, seat)} must stand here, not {_of(event)}")
        self._at += 1
        return event

    def exactly(self, what: str, seat: int | None, expected: Mapping[str, Any]) -> Noted:
        """The next event, which must be such a note with these data: every other value is a lie. Raises Lost."""
        note = self.note(what, seat)
        if same(note.data, expected):
            return note
        for key in sorted({*expected, *note.data}):
            if key not in note.data or key not in expected or not same(note.data[key], expected[key]):
                said, meant = (_brief(data[key]) if key in data else "nothing" for data in (note.data, expected))
                self.lie(note, f"{what}.{key} is {said}, by the rules it is {meant}")
        return note

    def asked(self, seat: int, phase: str, number: int, attempt: int = 1) -> Turned | None:
        """The next event if it is this turn, else None."""
        event = None if self.over else self._events[self._at]
        if not isinstance(event, Turned) or (event.seat, event.phase, event.attempt) != (seat, phase, attempt):
            return None
        self._at += 1
        if event.no_reply is not None and event.reply:
            self.lie(event, "a turn that was forfeited has a reply")
        if event.round != number:
            self.lie(event, f"the turn is said to be of round {event.round}, it is of {number}")
        return event

    def turn(self, seat: int, phase: str, number: int) -> Turned:
        """The next event, which must be this seat's first answer; raises Unanswered at the end of the log, or Lost."""
        turn = self.asked(seat, phase, number)
        if turn is not None:
            return turn
        if self.over:
            raise Unanswered
        event = self._events[self._at]
        raise Lost(f"seq {event.seq}: a turn of seat {seat} in {phase} must stand here, not {_of(event)}")

    def next_seat(self, present: Collection[int], phase: str) -> int:
        """Return which of the seats that may speak is the next to; raises Unanswered at the end of the log, or Lost."""
        if self.over:
            raise Unanswered
        event = self._events[self._at]
        if not isinstance(event, Turned) or event.phase != phase or event.seat not in present:
            raise Lost(f"seq {event.seq}: a turn of {sorted(present)} in {phase} must stand here, not {_of(event)}")
        return event.seat

    def broken_off(self, what: str) -> NoReturn:
        """Seats were being asked and not all had answered: raises Unanswered if that was the end, else Lost."""
        if not self.over:
            event = self._events[self._at]
            raise Lost(f"seq {event.seq}: {what} is not over, and {_of(event)} follows")
        if not self._stopped:
            raise Lost(f"the log ends in {what}, and nobody stopped the game")
        raise Unanswered

    def barrier(self, turns: Iterable[Turned]) -> None:
        """Check the names of turns that were open together: `barrier-seat-attempt`, one barrier after the other."""
        last = self._barrier
        for turn in turns:
            number, _, rest = turn.turn.partition("-")
            known = number.isascii() and number.isdecimal() and len(number) < 10
            if not known or rest != f"{turn.seat}-{turn.attempt}" or int(number) <= last:
                self.lie(turn, f"no turn of seat {turn.seat} can be named {turn.turn[:40]!r} here")
            elif self._barrier not in (last, int(number)):
                self.lie(turn, f"turn {turn.turn} was open together with others of barrier {self._barrier}")
            else:
                self._barrier = int(number)

    def rest(self) -> None:
        """Everything that is left is too much."""
        if not self.over:
            event = self._events[self._at]
            self.lie(event, f"the game is over, and {_of(event)} follows")


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; 1, 1.0 and true are three different values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
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


def remembered(rebuild: Callable[[Episode], T]) -> Callable[[Episode], T]:
    """`rebuild`, which keeps what it made of the last logs by trace hash; that hash stands for all that is in a log."""
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
