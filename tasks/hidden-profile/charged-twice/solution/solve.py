"""Everybody tells all they know in the first round, and votes for what the certificate proves.

Boilerplate hidden-profile/1, written by `harness sync`: edits here are lost.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

Turn = dict[str, Any]
Plan = Mapping[str, Any]


def solve(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Pool, and vote for the key of plan.json."""
    play(api, tell_all, lambda plan: str(plan["key"]))


def play(api: httpx.Client, say: Callable[[list[str]], str], vote: Callable[[Plan], str]) -> None:
    """Answer every turn until the session is over: `say` speaks in the first round, `vote` is the last word."""
    plan = json.loads(Path(__file__).with_name("plan.json").read_text(encoding="utf-8"))
    session = api.get("/session").raise_for_status().json()
    known = {row["seat"]: facts(row["system"]) for row in session["seats"]}
    structured = session["public"]["track"] == "structured"
    turns = api.get("/turns").raise_for_status().json()["turns"]
    while turns:
        turn = turns[0]
        reply = answer(turn, known[turn["seat"]], plan, say, vote, structured)
        turns = api.post(f"/turns/{turn['id']}", content=reply).raise_for_status().json()["turns"]


def answer(
    turn: Turn, known: list[str], plan: Plan, say: Callable[[list[str]], str], vote: Callable[[Plan], str], structured: bool
) -> str:
    """One reply: a vote before the talk, words in it, a vote after it."""
    if turn["phase"] != "DISCUSSION":
        option = vote(plan) if turn["phase"] == "POST_VOTE" else plan["decoy"]
        return json.dumps({"vote": option, "rationale": "by what I know now"})
    said = say(known) if turn["round"] == 1 else "Nothing to add."
    if not structured:
        return said
    cites = [f"F{place}" for place in range(1, len(known) + 1)] if turn["round"] == 1 and said else []
    return json.dumps({"text": said, "cites": cites, "stance": plan["decoy"]})


def tell_all(known: list[str]) -> str:
    """Every fact, word for word."""
    return " ".join(known)


def facts(system: str) -> list[str]:
    """What a person's rules say that it knows."""
    block = system.partition("# What you know")[2].partition("# The options")[0]
    return re.findall(r"^(?:- |F\d+\. )(.+)$", block, re.MULTILINE)
