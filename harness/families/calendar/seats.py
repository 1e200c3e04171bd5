"""Who can sit at a calendar: the reference protocols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from harness.agents.seating.policy import Maker, SeatPlayer
from harness.families.calendar.options import weights
from harness.registry import Task
from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat


def _sit(name: str, _task: Task, seat: int, session: Mapping[str, Any]) -> SeatPlayer:
    public = session["public"]
    sigma = weights(str(public["sd_model"]), public["agents"])
    return PROTOCOLS[name](Seat(seat, public["agents"], public["slots"], public["profile"], sigma))


PLAYERS: Mapping[str, Maker] = {name: partial(_sit, name) for name in PROTOCOLS}
