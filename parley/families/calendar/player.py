"""Plays a calendar game at every seat: asks outsiders who have to move something to do so, and decides as planned.

Copied into solution/solve.sh, so it needs the standard library and httpx alone.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx

Turn = dict[str, Any]
Reply = list[dict[str, Any]]
Plan = dict[str, Any]


def planned(plan: Plan, turn: Turn) -> Reply:
    """What the plan has for a turn."""
    mine, seat = plan["rounds"][turn["round"] - 1], turn["seat"]
    if turn["phase"] == "CHEAP_TALK":
        first = "=== ROUND" in turn["text"] and seat == min(mine["seats"])
        asked = [int(to) for to in mine["moves"] if int(to) not in mine["seats"]] if first else []
        return [{"type": "dm", "to": to, "content": f"please make room in round {turn['round']}"} for to in asked]
    decides = seat in mine["seats"]
    if decides != (turn["phase"] == "DECISION"):
        return []
    meeting = [{"type": "schedule", "meeting_id": mine["meeting"], "slot": mine["slot"]}] if decides else []
    keys = ("item_id", "from_slot", "to_slot", "justification")
    moves = [dict(zip(keys, move, strict=True)) for move in mine["moves"].get(str(seat), [])]
    return [*meeting, *({"type": "reschedule", **move} for move in moves)]


def play(api: httpx.Client, plan: Plan, actions: Callable[[Plan, Turn], Reply] = planned) -> None:
    """Answer every turn with what `actions` says, until the game is over."""
    turns = api.get("/turns").raise_for_status().json()["turns"]
    while turns:
        reply = json.dumps({"thinking": "", "actions": actions(plan, turns[0])})
        turns = api.post(f"/turns/{turns[0]['id']}", content=reply).raise_for_status().json()["turns"]
