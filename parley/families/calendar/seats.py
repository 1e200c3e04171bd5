"""Players of calendar seats: the reference protocols, and assistants that talk in plain sentences.

They compute their messages and hold no beliefs, so they do not answer turns that only measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.agents.seats.lineup import Maker, SeatPlayer
from harness.registry import Task
from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat
from parley.families.calendar.baselines import GreedySeat, PlannerSeat, ProseSeat, SilentSeat
from parley.families.calendar.options import weights
from worlds.core.turns import OpenTurn

BASELINES: dict[str, Callable[[Seat, str], ProseSeat]] = {
    "silent": SilentSeat,
    "truthful-greedy": GreedySeat,
    "truthful-planner": PlannerSeat,
}
"""For each name, the function that makes a seat that talks in sentences, from the seat and its rules."""


class _Unreflecting:
    """A player that does not answer questions about beliefs."""

    def __init__(self, player: SeatPlayer) -> None:
        self._player = player

    def reply(self, turn: OpenTurn) -> str | None:
        return None if turn.ephemeral else self._player.reply(turn)


def _sit(name: str, _task: Task, seat: int, session: Mapping[str, Any]) -> SeatPlayer:
    public = session["public"]
    sigma = weights(str(public["sd_model"]), public["agents"])
    me = Seat(seat, public["agents"], public["slots"], public["profile"], sigma)
    if name in PROTOCOLS:
        return _Unreflecting(PROTOCOLS[name](me))
    (rules,) = (row["system"] for row in session["seats"] if row["seat"] == seat)
    return _Unreflecting(BASELINES[name](me, rules))


PLAYERS: Mapping[str, Maker] = {name: partial(_sit, name) for name in (*PROTOCOLS, *BASELINES)}
