"""When things happened: virtual time moves by the turns of a session alone, and each of a kind costs as much as the others.

What a vote and a turn of talk cost stands in the task and not in the log, so the first of a kind says it for all. Turns that
are open together, and the notes that follow them, are of one moment. A request or a wait between two turns costs what only the
world can tell, so nothing is concluded across it.
"""

from __future__ import annotations

from collections.abc import Sequence

from worlds.core.events import Event, Noted, Requested, Turned, Waited


def look_at_times(events: Sequence[Event]) -> list[str]:
    """Lies in the virtual times of a session."""
    lies: list[str] = []
    costs: dict[str, int] = {}
    phase, now, is_known = "", 0, True
    for event in events:
        is_known = is_known and not isinstance(event, Requested | Waited)
        if not isinstance(event, Turned | Noted):
            continue
        due = now
        # each turn of talk is alone, whatever its name: one that is answered late in a chat is named by when it was asked
        if isinstance(event, Turned) and (event.phase == "DISCUSSION" or event.phase != phase):
            phase = event.phase
            due += costs.setdefault("talk" if phase == "DISCUSSION" else "vote", event.vt - now) if is_known else 0
        if is_known and event.vt != due:
            lies.append(f"seq {event.seq}: it is said to be at {event.vt} ms, by the turns before it is {due} ms")
        now, is_known = event.vt, True
    return lies
