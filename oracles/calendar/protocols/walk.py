"""An initiator's walk over slots: one is put to the vote at a time, and the first that nobody finds impossible is agreed on."""

from __future__ import annotations

from collections.abc import Iterable

PENDING = "PENDING"
IMPOSSIBLE = "IMPOSSIBLE"


class Walk:
    """The slots left to try, and the votes on the one that is up."""

    def __init__(self, pool: Iterable[int], voters: Iterable[int]) -> None:
        self._pool, self._voters = list(pool), frozenset(voters)
        self._votes: dict[int, bool] = {}
        self.slot: int | None = None
        """The slot that is up; None before the first one and after the last."""

    def vote(self, sender: int, slot: int | None, status: object) -> None:
        """Count one vote; one on another slot, or by nobody who was asked, counts nothing."""
        if slot == self.slot and sender in self._voters:
            self._votes[sender] = status == PENDING

    def refuse(self) -> None:
        """The initiator itself finds the slot impossible after all."""
        self._votes = dict.fromkeys((-1, *self._voters), False)

    @property
    def agreed(self) -> bool:
        """Whether everybody is for the slot that is up."""
        return self.slot is not None and len(self._votes) == len(self._voters) and all(self._votes.values())

    @property
    def refused(self) -> bool:
        """Whether everybody voted and somebody is against; true before the first slot is up, too."""
        return self.slot is None or (len(self._votes) >= len(self._voters) and not all(self._votes.values()))

    def advance(self) -> int | None:
        """Put the next slot to the vote; None when there is none left."""
        self.slot = self._pool.pop(0) if self._pool else None
        self._votes = {}
        return self.slot
