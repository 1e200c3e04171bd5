"""The clients of every hidden-profile task: a group that pools and decides, and wrong ones.

The wrong ones keep things back, do not listen, or do not vote; each must be told what went wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx

from harness.families.hidden_profile.player import Plan, play


def silent(api: httpx.Client, plan: Plan) -> None:
    """Nobody says what they know, and all stay with the first impression."""
    play(api, plan, lambda known: "I have nothing to say.", lambda plan: str(plan["decoy"]))


def deaf(api: httpx.Client, plan: Plan) -> None:
    """Everything is said, and nobody listens."""
    play(api, plan, vote=lambda plan: str(plan["decoy"]))


def undecided(api: httpx.Client, plan: Plan) -> None:
    """Everything is said, and nobody can bring themselves to vote."""
    play(api, plan, vote=lambda plan: "whatever you think")


Client = Callable[[httpx.Client, Plan], None]

SOLVE: Client = play
VIOLATIONS: dict[str, tuple[str, Client]] = {
    "silent": ("NOT_POOLED", silent),
    "deaf": ("NOT_HEARD", deaf),
    "undecided": ("INVALID_VOTE", undecided),
}

UNCERTIFIED = {"silent": "OTHER", "deaf": "OTHER"}
"""What clients earn where nothing is proved: without a proof nobody can say who could have known."""
