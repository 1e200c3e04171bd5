"""Wrong clients: groups that keep things back, that do not listen, that do not vote; each must be told what went wrong.

Boilerplate hidden-profile/1, written by `harness sync`: edits here are lost.
"""

from collections.abc import Callable

import httpx
from solve import play, tell_all


def silent(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Nobody says what they know, and all stay with the first impression."""
    play(api, lambda known: "I have nothing to say.", lambda plan: str(plan["decoy"]))


def deaf(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Everything is said, and nobody listens."""
    play(api, tell_all, lambda plan: str(plan["decoy"]))


def undecided(api: httpx.Client, instruction: str, wait: Callable[[float], None]) -> None:
    """Everything is said, and nobody can bring themselves to vote."""
    play(api, tell_all, lambda plan: "whatever you think")


VIOLATIONS = {
    "silent": ("NOT_POOLED", silent),
    "deaf": ("NOT_HEARD", deaf),
    "undecided": ("INVALID_VOTE", undecided),
}
