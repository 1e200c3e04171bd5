"""What a run may spend, counted for all of its nodes: the meter of a worker asks one actor, which stands beside the driver.

The rule is that of a run on one machine (`harness.agents.llm.meter`): before each call the whole run's spending is asked for,
after each it is told. The driver takes what was told into its own meter, which writes it down.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from harness.agent import Usage
from harness.agents.llm.meter import Meter, RunLimits, Spent


class Purse:
    """The actor: counts what all workers spend."""

    def __init__(self, spent: Spent) -> None:
        self._meter = Meter(spent=spent)
        self._told: list[Usage] = []

    def add(self, usage: Usage) -> None:
        """Count one call."""
        self._meter.add(usage)
        self._told.append(usage)

    def spent(self) -> Spent:
        """All of it so far."""
        return self._meter.spent

    def news(self) -> list[Usage]:
        """The calls since this was asked last."""
        told, self._told = self._told, []
        return told


@dataclass(frozen=True)
class SharedPurse:
    """The way to the actor, as it travels."""

    limits: RunLimits
    actor: Any

    def meter(self) -> PurseMeter:
        """Of a worker."""
        return PurseMeter(self.limits, self.actor)


class PurseMeter(Meter):
    """A worker's meter: what is spent is what the actor says."""

    def __init__(self, limits: RunLimits, purse: Any) -> None:
        super().__init__(limits)
        self._purse = purse

    @property
    def spent(self) -> Spent:
        """Of all workers."""
        spent: Spent = _answer(self._purse.spent.remote())
        return spent

    def add(self, usage: Usage) -> None:
        """Told before the next call is asked for."""
        _answer(self._purse.add.remote(usage))


def _answer(asked: Any) -> Any:
    return import_module("ray").get(asked)
