"""Two floors that weigh nothing: an assistant that is silent, and one that tells what it can use and takes the first slot."""

from __future__ import annotations

from collections.abc import Sequence

from harness.families.calendar.baselines.grammar import COULD, FREE, Suits
from harness.families.calendar.baselines.prose import Action, Degrees, ProseSeat, SaidBy, common, usable


class SilentSeat(ProseSeat):
    """Sends nothing, reads nothing, and takes its own lowest free slot, or the lowest that it can make free."""

    def hear(self, heard: SaidBy) -> None:
        """It does not listen."""

    def suits(self) -> list[Suits]:
        """Nothing is told."""
        return []

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The own slot."""
        room = usable(self)
        return min(room, key=lambda slot: (bool(room[slot]), slot), default=None)

    def chosen(self) -> int | None:
        """The own slot, whatever the others may do."""
        return self.best(())

    def _speak(self, heard: Sequence[SaidBy], text: str) -> list[Action]:
        return []


class GreedySeat(ProseSeat):
    """Tells its free slots and those it could make free; the lowest slot that is free for all wins, else that all can use."""

    def suits(self) -> list[Suits]:
        """Two kinds of slots, without a word on how dear the second are."""
        room = usable(self)
        free = tuple(slot for slot, moves in room.items() if not moves)
        return [Suits(free, FREE), Suits(tuple(slot for slot in room if slot not in free), COULD)]

    def best(self, degrees: Sequence[Degrees]) -> int | None:
        """The lowest slot free for all, else the lowest that all can use."""
        slots = common(degrees)
        return min(slots, key=lambda slot: (any(told[slot] != FREE for told in degrees), slot), default=None)
