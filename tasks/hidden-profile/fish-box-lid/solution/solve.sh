#!/bin/bash
# Boilerplate hidden-profile/3, written by `harness sync`: edits here are lost.
# Plays the plan in plan.json; the player is a copy of the family's own.
cd "$(dirname "$0")" && exec python3 -B - <<'PLAYER'
"""Plays a session at every seat: all tell all they know in the first round, and vote for what the plan says of that.

Copied into solution/solve.sh, so it needs the standard library and httpx alone.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx

Turn = dict[str, Any]
Plan = dict[str, Any]


def tell_all(known: list[str]) -> str:
    """Every fact, word for word."""
    return " ".join(known)


def play(
    api: httpx.Client,
    plan: Plan,
    say: Callable[[list[str]], str] = tell_all,
    vote: Callable[[Plan], str] = lambda plan: str(plan["key"]),
) -> None:
    """Answer every turn until the session is over: `say` speaks in the first round, `vote` is the last word."""
    session = api.get("/session").raise_for_status().json()
    known = {row["seat"]: facts(row["system"]) for row in session["seats"]}
    plan = dealt(plan, {fact for told in known.values() for fact in told})
    structured = session["public"]["track"] == "structured"
    turns = api.get("/turns").raise_for_status().json()["turns"]
    while turns:
        turn = turns[0]
        if turn["phase"] == "DISCUSSION":
            mine = known[turn["seat"]] if turn["round"] == 1 else []
            reply = message(say(mine) if turn["round"] == 1 else "Nothing to add.", mine, plan, structured=structured)
        else:
            choice = vote(plan) if turn["phase"] == "POST_VOTE" else plan["decoy"]
            reply = json.dumps({"vote": choice, "rationale": "by what I know now"})
        turns = api.post(f"/turns/{turn['id']}", content=reply).raise_for_status().json()["turns"]


def dealt(plan: Plan, told: set[str]) -> Plan:
    """The plan for this deal, once everybody's facts lie on the table: its key, and a wrong option, the leader where it is one.

    Where the facts fit several deals (nobody was told any private one) the leader stands for the key.
    """
    if "key" in plan:
        return plan
    shown = [next((str(n) for n, text in enumerate(texts) if text in told), "") for texts in plan["cards"].values()]
    fitting = [
        row for row in plan["deals"] if all(digit in {"", own} for digit, own in zip(shown, row["versions"], strict=True))
    ]
    keys, leader = {row["key"] for row in fitting}, fitting[0]["leader"]
    key = keys.pop() if len(keys) == 1 else leader
    return {"key": key, "decoy": next(option for option in (leader, *plan["options"]) if option != key)}


def message(said: str, known: list[str], plan: Plan, *, structured: bool) -> str:
    """What is said, with the points that it rests on where the session asks for them."""
    cites = [f"F{place}" for place in range(1, len(known) + 1)] if said else []
    return json.dumps({"text": said, "cites": cites, "stance": plan["decoy"]}) if structured else said


def facts(system: str) -> list[str]:
    """What a person's rules say that it knows."""
    block = system.partition("# What you know")[2].partition("# The options")[0]
    return re.findall(r"^(?:- |F\d+\. )(.+)$", block, re.MULTILINE)


import json
from pathlib import Path

plan = Path("plan.json")
with httpx.Client(base_url="http://api:8080", trust_env=False, timeout=30) as api:
    play(api, json.loads(plan.read_text(encoding="utf-8")) if plan.exists() else {})
PLAYER
