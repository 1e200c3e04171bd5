"""Games whose seats send what a test wrote down, turn by turn: sound JSON, or a text that the world has to mend."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.worlds.calendar.hostile_games import Seat, folder_of, play
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.core.turns import OpenTurn

TALK, VOLUNTARY, DECISION = "CHEAP_TALK", "VOLUNTARY", "DECISION"

Script = Mapping[tuple[str, int, int], Sequence[Any]]
"""Phase, round and seat -> its replies one after the other, each a list of actions or the text itself; nothing after them."""

SCENARIO = Scenario(
    slots=4,
    errands=(
        (Errand(slot=0, id=1, cost=2), Errand(slot=1, id=2, cost=3, blocked=True)),
        (Errand(slot=0, id=3, cost=1), Errand(slot=1, id=4, cost=1)),
        (Errand(slot=2, id=5, cost=4),),
        (),
    ),
    meetings=(Meeting(id=1, participants=(0, 1), speakers=(1, 0)), Meeting(id=2, participants=(0, 1), speakers=(1, 0))),
)
"""Seats 0 and 1 are free in slots 2 and 3; seats 2 and 3 take part in nothing. Seat 1 is always asked first."""


def dm(to: Any, content: Any = "hello") -> dict[str, Any]:
    """A message to one seat."""
    return {"type": "dm", "to": to, "content": content}


def put(meeting: int, slot: Any) -> dict[str, Any]:
    """Schedules a meeting."""
    return {"type": "schedule", "meeting_id": meeting, "slot": slot}


def move(item: Any, source: int, target: int, why: str = "room") -> dict[str, Any]:
    """Moves an item."""
    return {"type": "reschedule", "item_id": item, "from_slot": source, "to_slot": target, "justification": why}


def broken(*actions: Any) -> str:
    """A reply that is no JSON until it is mended."""
    return json.dumps({"actions": actions})[:-1] + ",}"


def agreed(meeting: int, slot: int) -> Script:
    """Both participants schedule a meeting in one slot; it is the one of the round of its number."""
    return {(DECISION, meeting, seat): [[put(meeting, slot)]] for seat in (0, 1)}


def logged(folder: Path, script: Script, turns: int | None = None, **options: Any) -> bytes:
    """The log of a game in which this is said; the harness stops it after so many turns."""
    return play(folder_of(folder, SCENARIO), _seat(script), options, turns).log.dump()


def _seat(script: Script) -> Seat:
    left = {key: [*replies] for key, replies in script.items()}

    def reply(turn: OpenTurn) -> str:
        replies = left.get((turn.phase, turn.round, turn.seat))
        said = replies.pop(0) if replies else []
        return said if isinstance(said, str) else json.dumps({"actions": said})

    return reply
