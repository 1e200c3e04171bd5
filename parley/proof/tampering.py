"""Logs that no honest episode of a task leaves, derived from its oracle's log, which the hidden tests must reject.

1. Forged logs are sealed again, so that only a claim about their content can reject them; one is altered without sealing.
2. A log that is cut after a request equals the log of a client that gives up, because giving up writes no event.
3. A log in which a request broke a rule before the goal equals the log of a client that recovered, which is not a success.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from worlds.core.events import Closed, Event, EventLog, Requested, read_log

Tampered = tuple[str, bytes]
"""The name of a modification, and the modified log."""

CUT, SPENT, DROPPED, BROKEN, FORGED = "cut", "spent", "dropped", "broken", "forged"
"""Name prefixes of altered logs.

In this order: logs that end early, that a budget ended early, that lack requests, in which a request broke a rule, and that no
world writes.
"""

_UNKNOWN = "perhaps"


def sealed(events: Sequence[Event]) -> bytes:
    """Return a log of these events at their times, with new numbers and a new hash chain."""
    log = EventLog()
    for event in events:
        log.append(event, event.vt)
    return log.dump()


def cut(log: bytes) -> Iterator[Tampered]:
    """Yield the log cut after each number of requests, from none to all but the last."""
    lines = log.splitlines(keepends=True)
    asked = [place for place, event in enumerate(read_log(log)) if isinstance(event, Requested)]
    for number, place in enumerate(asked):
        yield f"{CUT}:{number}", b"".join(lines[:place])


def spent(log: bytes) -> Iterator[Tampered]:
    """Yield the log cut before each request but the first, where the budget of virtual time ends it."""
    events = read_log(log)
    asked = [place for place, event in enumerate(events) if isinstance(event, Requested)]
    beyond = events[0].__dict__["budgets"]["virtual_ms"] + 1
    for number, place in enumerate(asked[1:], start=1):
        yield f"{SPENT}:{number}", sealed([*events[:place], Closed(cause="virtual_time", vt=beyond)])


def dropped(log: bytes) -> Iterator[Tampered]:
    """Yield the log without all requests of one method and path, for each method and path before the last request."""
    events = read_log(log)
    asked = [event for event in events if isinstance(event, Requested)]
    for method, path in dict.fromkeys((event.method, event.path) for event in asked[:-1]):
        kept = [
            event for event in events if not (isinstance(event, Requested) and (event.method, event.path) == (method, path))
        ]
        yield f"{DROPPED}:{method} {path}", sealed(kept)


def broken(log: bytes, label: str, detail: dict[str, Any]) -> Tampered:
    """Return the log with its first request changed to a broken rule, and the rest unchanged."""
    forged = {"kind": "violation", "label": label, "rule": "forged", "status": 403, "detail": detail, "issued": (), "used": ()}
    return f"{BROKEN}:{label}", sealed(_changed(read_log(log), 0, forged))


def forged(log: bytes) -> Iterator[Tampered]:
    """Yield logs that no world writes: a goal alone, two goals, an unknown kind, other answers, exceeded budgets, late use."""
    events = read_log(log)
    requests = [event for event in events if isinstance(event, Requested)]
    last = len(requests) - 1
    alone = [event for event in events if not isinstance(event, Requested) or event is requests[last]]
    yield f"{FORGED}:a goal alone", sealed(alone)
    yield f"{FORGED}:two goals", sealed([*events, events[-1]])
    yield f"{FORGED}:an unknown kind", sealed(_changed(events, last, {"kind": _UNKNOWN}))
    yield f"{FORGED}:a goal that was refused", sealed(_changed(events, last, {"status": 403}))
    yield f"{FORGED}:a world that failed", sealed(_changed(events, 0, {"kind": "fault", "status": 500}))
    yield f"{FORGED}:another digest", log.replace(requests[last].body_sha256.encode(), b"0" * 64)
    for name, most in (("steps", last), ("virtual_ms", events[-1].vt - 1)):
        budgets = {**events[0].__dict__["budgets"], name: most}
        yield f"{FORGED}:more {name} than the budget", sealed([events[0].model_copy(update={"budgets": budgets}), *events[1:]])
    yield from late(events)


def late(events: Sequence[Event]) -> Iterator[Tampered]:
    """Yield for each artifact a log in which it is used just after its window; later events move by the same time."""
    ends: dict[str, int] = {}
    done: set[str] = set()
    for place, event in enumerate(events):
        for name in event.used if isinstance(event, Requested) and event.kind in ("ok", "goal") else ():
            if name in ends and name not in done and ends[name] > event.vt:
                done.add(name)
                yield f"{FORGED}:{name} used late", sealed([*events[:place], *_later(events[place:], ends[name] - event.vt)])
        if isinstance(event, Requested):
            ends |= {made.artifact: made.expires_at for made in event.issued}


def _later(events: Sequence[Event], by_ms: int) -> list[Event]:
    """Return the events with their times, and those of issued artifacts, moved later."""
    moved = []
    for event in events:
        change: dict[str, Any] = {"vt": event.vt + by_ms}
        if isinstance(event, Requested):
            change["issued"] = tuple(
                made.model_copy(update={"issued_at": made.issued_at + by_ms, "expires_at": made.expires_at + by_ms})
                for made in event.issued
            )
        moved.append(event.model_copy(update=change))
    return moved


def _changed(events: Sequence[Event], number: int, change: dict[str, Any]) -> list[Event]:
    """Return the events with request `number` (from 0) changed."""
    asked = [event for event in events if isinstance(event, Requested)]
    return [event.model_copy(update=change) if event is asked[number] else event for event in events]
