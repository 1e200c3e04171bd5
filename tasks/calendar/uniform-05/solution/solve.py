"""Plays plan.json at every seat: the best schedule that the certificate in tests/oracle.json proves.

Boilerplate calendar/1, written by `harness sync`: edits here are lost.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

Turn = dict[str, Any]
Reply = list[dict[str, Any]]


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Talk only to outsiders who have to move something; decide as planned."""
    play(api, planned)


def play(api: httpx.Client, actions: Callable[[list[dict[str, Any]], Turn], Reply]) -> None:
    """Answer every turn with what `actions` says, until the game is over."""
    rounds = json.loads(Path(__file__).with_name("plan.json").read_text(encoding="utf-8"))["rounds"]
    turns = api.get("/turns").raise_for_status().json()["turns"]
    while turns:
        turn = turns[0]
        reply = json.dumps({"thinking": "", "actions": actions(rounds, turn)})
        turns = api.post(f"/turns/{turn['id']}", content=reply).raise_for_status().json()["turns"]


def planned(rounds: list[dict[str, Any]], turn: Turn) -> Reply:
    """What the plan has for a turn."""
    mine, seat = rounds[turn["round"] - 1], str(turn["seat"])
    if turn["phase"] != "CHEAP_TALK":
        found: Reply = mine[turn["phase"].lower()].get(seat, [])
        return found
    first = "=== ROUND" in turn["text"] and seat == min(mine["decision"], key=int)
    content = f"please make room in round {turn['round']}"
    return [{"type": "dm", "to": int(to), "content": content} for to in mine["voluntary"] if first]
