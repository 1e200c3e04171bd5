"""A game of four and three rounds, and seats that play it as told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.worlds.calendar.playing import Played
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.turns import OpenTurn

SCENARIO = Scenario(
    slots=6,
    errands=(
        (
            Errand(slot=0, id=1, cost=1, label="dentist"),
            Errand(slot=1, id=2, cost=100, label="court"),
            Errand(slot=5, id=3, cost=1, blocked=True),
        ),
        (Errand(slot=0, id=11, cost=10, label="bank"), Errand(slot=2, id=12, cost=1)),
        (Errand(slot=3, id=21, cost=1),),
        (Errand(slot=4, id=31, cost=1),),
    ),
    meetings=(
        Meeting(id=1, participants=(0, 1), speakers=(1, 0), label="merger talk"),
        Meeting(id=2, participants=(1, 2), speakers=(2, 1), label="salary talk"),
        Meeting(id=3, participants=(0, 2), label="handover"),
    ),
    scale={1: 1, 10: 2, 100: 3},
)  # fmt: skip


def say(*actions: Mapping[str, Any]) -> str:
    """A reply."""
    return json.dumps({"thinking": "", "actions": actions})


def dm(to: int, content: str) -> dict[str, Any]:
    """A direct message."""
    return {"type": "dm", "to": to, "content": content}


def decide(turn: OpenTurn, slots: Mapping[int, int]) -> str:
    """The meeting at the slot that `slots` has for its round, with the errand that is there moved to the first free one."""
    slot, text = slots[turn.round], turn.text.splitlines()
    line = next(line for line in text if line.startswith(f"Slot {slot}:"))
    free = next(int(line.split()[1][:-1]) for line in text if line.endswith("[FREE]") and f"Slot {slot}:" not in line)
    number = next(line.split()[1][1:-1] for line in text if line.startswith("Meeting M"))
    actions = [{"type": "schedule", "meeting_id": int(number), "slot": slot}]
    if "Errand" in line:
        item = line.split("#")[1].split()[0]
        actions.append(
            {"type": "reschedule", "item_id": int(item), "from_slot": slot, "to_slot": free, "justification": "room"}
        )
    return say(*actions)


AGREED = {1: 3, 2: 4, 3: 2}


def scripted(
    talk: Callable[[OpenTurn], str] = lambda turn: say(), slots: Mapping[int, int] = AGREED, **other: Callable[[OpenTurn], str]
) -> Any:
    """A table of seats that talk as told, decide on `slots`, and do what `other` says in other phases."""

    def reply(turn: OpenTurn) -> str:
        if turn.phase in other:
            return other[turn.phase](turn)
        return talk(turn) if turn.phase == "CHEAP_TALK" else decide(turn, slots)

    return reply


def settings(profile: str = "text", **changed: Any) -> Settings:
    """A profile, with some options changed."""
    options = {
        "profile": profile,
        "channels": "dm",
        "turn_cap": 0,
        "message_cap": 0,
        "decision_retries": 3,
        "strict_replies": False,
    }
    options |= dict.fromkeys(
        ("failed_rounds", "outsiders", "blocked_attempts", "exhausted", "voluntary", "justification"), "profile"
    )
    return replace(Settings.from_options(options), **changed)


def spoken(played: Played, number: int = 1) -> list[tuple[str, int]]:
    """Phase and seat of every turn of a round."""
    return [(turn.phase, turn.seat) for turn in played.turns if turn.round == number]
