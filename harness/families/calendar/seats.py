"""Who can sit at a calendar: the reference protocols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from harness.agents.seats import Maker, SeatPlayer
from harness.errors import UsageError
from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat


def _sit(name: str, seat: int, public: Mapping[str, Any]) -> SeatPlayer:
    sigma = _weights(str(public["sd_model"]), public["agents"])
    return PROTOCOLS[name](Seat(seat, public["agents"], public["slots"], public["profile"], sigma))


def _weights(text: str, agents: int) -> dict[int, float]:
    """SD-MAP's weight of each agent, from `1:2:1:1:1`; raises UsageError for anything else."""
    try:
        weights = [float(part) for part in text.split(":")] if text else []
    except ValueError:
        weights = [-1.0]
    if weights and (len(weights) != agents or not all(0 <= weight < float("inf") for weight in weights)):
        raise UsageError(f"sd_model must be {agents} weights from 0 joined by a colon, not {text!r}")
    return dict(enumerate(weights))


PLAYERS: Mapping[str, Maker] = {name: partial(_sit, name) for name in PROTOCOLS}
