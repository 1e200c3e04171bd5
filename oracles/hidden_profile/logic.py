"""The questions that a proof asks of a deck, whoever answers; the first witness has a table of worlds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from worlds.hidden_profile.rules import worlds
from worlds.hidden_profile.rules.scenario import Frame
from worlds.hidden_profile.rules.worlds import Worlds, worlds_of


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
        return worlds.excluded(self.table, known)

    def settled(self, known: Collection[str]) -> str | None:
        """The option that facts and promise leave alone, or None."""
        return worlds.settled(self.table, known)
