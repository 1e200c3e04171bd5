"""Spending of a run, counted for all of its nodes by one actor beside the driver, which the meters of the workers call.

The rules are those of a run on one machine (`harness.agents.llm.meter`): the spending of the whole run is checked before each
call and updated after it. The driver adds the reported calls to its own meter, which writes them to disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from harness.agent import Usage
from harness.agents.llm.meter import Meter, RunLimits, Spent


class Purse:
    """Actor that counts the spending of all workers."""

    def __init__(self, spent: Spent) -> None:
        self._meter = Meter(spent=spent)
        self._told: list[Usage] = []

    def add(self, usage: Usage) -> None:
        """Count one call."""
        self._meter.add(usage)
        self._told.append(usage)

    def spent(self) -> Spent:
        """Return the total spending so far."""
        return self._meter.spent

    def news(self) -> list[Usage]:
        """Return the calls since the last request."""
        told, self._told = self._told, []
        return told


@dataclass(frozen=True)
class SharedPurse:
    """Serializable handle of the actor."""

    limits: RunLimits
    actor: Any

    def meter(self) -> PurseMeter:
        """Return the meter of a worker."""
        return PurseMeter(self.limits, self.actor)


class PurseMeter(Meter):
    """Meter of a worker, whose spending is that reported by the actor."""

    def __init__(self, limits: RunLimits, purse: Any) -> None:
        super().__init__(limits)
        self._purse = purse

    @property
    def spent(self) -> Spent:
        """Total spending of all workers."""
        spent: Spent = _answer(self._purse.spent.remote())
        return spent

    def add(self, usage: Usage) -> None:
        """Report a call. This returns before the next call is requested."""
        _answer(self._purse.add.remote(usage))


def _answer(asked: Any) -> Any:
    return import_module("ray").get(asked)
