"""The clients of every hidden-profile task: a group that pools and decides, and wrong ones.

The wrong ones withhold facts, ignore what they hear, or do not vote; the verdict must name the error of each.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx

from parley.families.hidden_profile.player import Plan, play


def silent(api: httpx.Client, plan: Plan) -> None:
    """Play seats that share no facts and keep their first impression."""
    play(api, plan, lambda known: "I have nothing to say.", lambda plan: str(plan["decoy"]))


def deaf(api: httpx.Client, plan: Plan) -> None:
    """Play seats that share all facts and ignore them."""
    play(api, plan, vote=lambda plan: str(plan["decoy"]))


def undecided(api: httpx.Client, plan: Plan) -> None:
    """Play seats that share all facts and cast no valid vote."""
    play(api, plan, vote=lambda plan: "whatever you think")


Client = Callable[[httpx.Client, Plan], None]

SOLVE: Client = play
VIOLATIONS: dict[str, tuple[str, Client]] = {
    "silent": ("NOT_POOLED", silent),
    "deaf": ("NOT_HEARD", deaf),
    "undecided": ("INVALID_VOTE", undecided),
}

UNCERTIFIED = {"silent": "OTHER", "deaf": "OTHER"}
"""Labels of clients on uncertified tasks: without a certificate, it is unknown which seats could have known the answer."""
