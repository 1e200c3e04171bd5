"""Who can sit at a calendar: the reference protocols, and assistants that talk in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.agents.seating.policy import Maker, SeatPlayer
from harness.families.calendar.baselines.floor import GreedySeat, SilentSeat
from harness.families.calendar.baselines.planner import PlannerSeat
from harness.families.calendar.baselines.prose import ProseSeat
from harness.families.calendar.options import weights
from harness.registry import Task
from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat

BASELINES: dict[str, Callable[[Seat, str], ProseSeat]] = {
    "silent": SilentSeat,
    "truthful-greedy": GreedySeat,
    "truthful-planner": PlannerSeat,
}
"""Name -> what makes a seat that talks in sentences, from the seat and its rules."""


def _sit(name: str, _task: Task, seat: int, session: Mapping[str, Any]) -> SeatPlayer:
    public = session["public"]
    sigma = weights(str(public["sd_model"]), public["agents"])
    me = Seat(seat, public["agents"], public["slots"], public["profile"], sigma)
    if name in PROTOCOLS:
        return PROTOCOLS[name](me)
    (rules,) = (row["system"] for row in session["seats"] if row["seat"] == seat)
    return BASELINES[name](me, rules)


PLAYERS: Mapping[str, Maker] = {name: partial(_sit, name) for name in (*PROTOCOLS, *BASELINES)}
