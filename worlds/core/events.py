"""Event log of an episode: typed events, one JSON line each, chained by SHA-256. It is the only evidence for verdicts.

1. Each event holds `seq`, `vt` (virtual ms since the episode began), `type`, its own fields, `prev` and `hash`.
2. `hash` is SHA-256 over the canonical JSON of everything else in the event, including `prev`; the first `prev` is 64 zeros.
The last hash of a log is the episode's `trace_hash`.
3. No host, port, process id, wall time or token is logged, so identical episodes have identical hashes in every runtime.
4. `read_log` returns typed events or raises LogError with the invalid line. An unknown type or field is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_json, to_jsonable_python

from worlds.core.errors import LogError
from worlds.core.models import SpanMs, Strict, Whole

GENESIS = "0" * 64
"""`prev` of the first event."""

Kind = Literal["ok", "protocol", "violation", "goal", "stray", "fault"]
"""Result of a request: ok, planned refusal, broken rule, goal, unknown or unreadable, or failure of the world itself."""

CloseCause = Literal["steps", "virtual_time", "request_cap", "violation", "fault"]


class Event(Strict):
    """Base class of events; the log fills in `seq`, `vt`, `prev` and `hash`."""

    seq: Whole = 0
    vt: SpanMs = 0
    type: str
    prev: str = ""
    hash: str = ""


class Opened(Event):
    """The first event: the world's identity, and all settings that shaped it."""

    type: Literal["opened"] = "opened"
    task_id: str
    family: str
    category: str | None
    seed: Whole
    epoch: str
    key_digest: str
    options: dict[str, Any]
    budgets: dict[str, Whole]
    instruction: str


class Issued(Strict):
    """An artifact that a response handed out, with its validity in virtual ms, and without its bytes."""

    artifact: str
    issued_at: SpanMs
    expires_at: Whole


class Requested(Event):
    """One request that reached the app, with its judgement."""

    type: Literal["request"] = "request"
    method: str
    path: str
    target_sha256: str
    body_sha256: str
    status: Whole
    kind: Kind
    label: str | None = None
    rule: str | None = None
    also: str | None = None
    detail: dict[str, Any] = {}
    used: tuple[str, ...] = ()
    issued: tuple[Issued, ...] = ()

    @property
    def artifact(self) -> str | None:
        """The artifact that this request was about: the last one it used."""
        return self.used[-1] if self.used else None


class Waited(Event):
    """An explicit wait of `ms` virtual milliseconds."""

    type: Literal["wait"] = "wait"
    ms: SpanMs


class Closed(Event):
    """The world closed the episode under one of its own rules."""

    type: Literal["closed"] = "closed"
    cause: CloseCause


class Stopped(Event):
    """The harness ended the episode because of a budget that only it can measure."""

    type: Literal["stop"] = "stop"
    cause: str


class Seated(Event):
    """The seats of a world, with the system prompt of each as delivered."""

    type: Literal["session"] = "session"
    seats: tuple[str, ...]
    public: dict[str, Any] = {}
    """Information about the game that every seat may have."""


class Turned(Event):
    """One finished turn: the text that was sent to a seat, and its raw reply."""

    type: Literal["turn"] = "turn"
    turn: str
    seat: Whole
    phase: str
    round: Whole
    attempt: Whole
    text: str
    ephemeral: bool = False
    reply: str
    no_reply: str | None = None
    """Cause of the missing reply if the turn was forfeited."""


class Noted(Event):
    """An event of a game, in the terms of its family."""

    type: Literal["game"] = "game"
    what: str
    seat: Whole | None = None
    data: dict[str, Any] = {}


AnyEvent = Annotated[Opened | Requested | Waited | Closed | Stopped | Seated | Turned | Noted, Field(discriminator="type")]
_ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


_PLAIN = frozenset({str, int, bool, type(None)})


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """Return canonical JSON: sorted keys, no spaces, UTF-8; raises ValueError for a number or text that JSON cannot hold."""
    return to_json(_ordered(value))


def _ordered(value: Any) -> Any:
    """Return the value with the keys of all its objects sorted."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list or kind is tuple:
        return [_ordered(inner) for inner in value]
    if kind is dict:
        return {name: _ordered(value[name]) for name in sorted(value, key=str)}
    if kind is float:
        if not isfinite(value):
            raise ValueError(f"{value} is no number that JSON has")
        return value
    return _ordered(to_jsonable_python(value))


@cache
def _halves(kind: type[Event]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of an event that sort before and after its hash in canonical JSON."""
    names = sorted(kind.model_fields)
    return tuple(name for name in names if name < "hash"), tuple(name for name in names if name > "hash")


class _Written(NamedTuple):
    """An event as canonical JSON, split where the hash belongs, so that it is encoded once for hashing and writing."""

    before: bytes
    after: bytes

    @classmethod
    def of(cls, kind: type[Event], body: Mapping[str, Any]) -> _Written:
        before, after = _halves(kind)
        # most values are plain, and asking here is cheaper than calling
        opening = {name: value if type(value := body[name]) in _PLAIN else _ordered(value) for name in before}
        ending = {name: value if type(value := body[name]) in _PLAIN else _ordered(value) for name in after}
        return cls(to_json(opening)[:-1] + (b"," if before else b""), to_json(ending)[1:])

    def digest(self) -> str:
        """Return the hash of the event."""
        return hashlib.sha256(self.before + self.after).hexdigest()

    def line(self, digest: str) -> bytes:
        """Return the line of the event with this hash in place."""
        return b'%b"hash":"%b",%b' % (self.before, digest.encode(), self.after)


class EventLog:
    """Append-only, hash-chained log; `sink` receives each finished line, including its newline."""

    def __init__(self, sink: Callable[[bytes], object] | None = None) -> None:
        self._lines: list[bytes] = []
        self._events: list[Event] = []
        self._sink = sink
        self.trace_hash = GENESIS
        """The last hash, or the genesis hash for an empty log."""

    @property
    def events(self) -> list[Event]:
        """The events so far, parsed as a reader of the log would get them."""
        self._events += map(_ADAPTER.validate_json, self._lines[len(self._events) :])
        return self._events

    def append(self, draft: Event, vt: int) -> None:
        """Seal `draft` at virtual time `vt` (ms) and write it."""
        place = {"seq": len(self._lines), "vt": vt, "prev": self.trace_hash}
        written = _Written.of(type(draft), {**draft.__dict__, **place})
        self.trace_hash = written.digest()
        self._lines.append(written.line(self.trace_hash) + b"\n")
        if self._sink is not None:
            self._sink(self._lines[-1])

    def dump(self) -> bytes:
        """Return the whole log as the bytes of a file."""
        return b"".join(self._lines)


def read_log(data: bytes) -> list[Event]:
    """Parse a log file and check its chain; raises LogError with the line number."""
    if not data:
        raise LogError("the log is empty")
    if not data.endswith(b"\n"):
        raise LogError("the log ends in the middle of a line")
    events: list[Event] = []
    for number, line in enumerate(data[:-1].split(b"\n"), start=1):
        try:
            event = _ADAPTER.validate_json(line)
        except ValidationError as error:
            raise LogError(f"line {number} is not an event: {error.errors()[0]['msg']}") from None
        _check_link(event, line, events, number)
        events.append(event)
    return events


def _check_link(event: Event, line: bytes, before: list[Event], number: int) -> None:
    previous = before[-1] if before else None
    if (event.type == "opened") != (previous is None):
        raise LogError(f"line {number}: the first event, and only it, must be opened")
    if event.prev != (previous.hash if previous else GENESIS) or event.seq != len(before):
        raise LogError(f"line {number} does not follow the line before it")
    if previous is not None and event.vt < previous.vt:
        raise LogError(f"line {number}: virtual time goes backwards from {previous.vt} to {event.vt}")
    try:
        written = _Written.of(type(event), event.__dict__)
    except ValueError as error:
        raise LogError(f"line {number}: {error}") from None
    if written.line(event.hash) != line:
        raise LogError(f"line {number} is not canonical JSON")
    if written.digest() != event.hash:
        raise LogError(f"line {number} was altered: its hash does not match")
