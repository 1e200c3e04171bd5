"""The questions that a proof asks of a scenario or a deck, whoever answers; the first witness has a table of worlds."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Protocol

from worlds.hidden_profile.rules import scores
from worlds.hidden_profile.rules.frame import Frame
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import Worlds, WorldTable, tabulate, worlds_of

Beliefs = dict[str, Fraction]
"""Option -> chance."""


class Questions(Protocol):
    """What known facts prove; the facts of a scenario go by their ids, the texts of a deck by the names of `Deck.asserted`."""

    def consistent(self, known: Collection[str]) -> bool:
        """Whether there is a world in which the facts hold."""
        ...

    def excluded(self, known: Collection[str]) -> frozenset[str]:
        """The options that are out in every such world; none where there is no such world."""
        ...

    def settled(self, known: Collection[str]) -> str | None:
        """The option that facts and promise leave alone, or None."""
        ...


class Logic(Questions, Protocol):
    """What the facts of one scenario prove, and how credible they make each option."""

    scenario: Scenario
    counts: bool
    """Whether it can weigh worlds; where not, `belief` is None whatever is known."""

    subset_limit: int
    """Private facts up to which asking about every subset is reasonable."""

    def belief(self, known: Collection[str]) -> Beliefs | None:
        """The ideal listener's chances; None where no world keeps the promise."""
        ...


class Tabulated:
    """The first witness: every world, in one table; raises ValueError where there are too many (`worlds.LIMIT`)."""

    table: Worlds

    def __init__(self, frame: Frame) -> None:
        self.table = worlds_of(frame)

    def consistent(self, known: Collection[str]) -> bool:
        """Whether there is a world in which the facts hold."""
        return bool(self.table.known(known))

    def excluded(self, known: Collection[str]) -> frozenset[str]:
        """The options that are out in every such world; none where there is no such world."""
        return scores.excluded(self.table, known)

    def settled(self, known: Collection[str]) -> str | None:
        """The option that facts and promise leave alone, or None."""
        return scores.settled(self.table, known)


class Exhaustive(Tabulated):
    """The first witness of a scenario."""

    counts = True
    subset_limit = 16
    table: WorldTable

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.table = tabulate(scenario)

    def belief(self, known: Collection[str]) -> Beliefs | None:
        """The ideal listener's chances; None where no world keeps the promise."""
        return scores.belief(self.table, known)
