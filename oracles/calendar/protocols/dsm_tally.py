"""The initiator's sheet for one meeting: what was offered, who has answered, and which plan is best.

A plan is scored by everybody whom it touches: the participants, and third parties with a meeting that it moves. Plans rank by
how far their scorers are from the best level, all together; one that suits everybody goes before any that does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oracles.calendar.protocols.dsm_points import Reward, reward
from oracles.calendar.protocols.dsm_scoring import BEST, DsmPlan


class Tally:
    """Offers and answers; `own` are the initiator's levels by plan id."""

    def __init__(self, me: int, participants: Sequence[int], own: Mapping[int, int]) -> None:
        self._me, self._participants, self._own = me, tuple(participants), own
        self._scores: dict[int, dict[int, int]] = {}
        self._waiting: set[int] = set()
        self.offers = 0
        self.plans: list[DsmPlan] = []
        """The offer that is open."""

    def open(self, plans: Sequence[DsmPlan]) -> list[int]:
        """Begin the next offer; returns who is asked, ascending: everybody whom one of its plans touches."""
        self.offers, self.plans = self.offers + 1, list(plans)
        self._waiting = {seat for plan in plans for seat in self.readers(plan)}
        return sorted(self._waiting)

    def hear(self, seat: int, offer: int, levels: Mapping[int, int]) -> None:
        """One answer; only the first one to the open offer counts, and a plan that it leaves out is infeasible."""
        if offer == self.offers and seat in self._waiting:
            self._waiting.remove(seat)
            self._scores.setdefault(seat, {}).update({plan.id: levels.get(plan.id, 0) for plan in self.plans})

    def complete(self) -> bool:
        """Whether everybody has answered."""
        return not self._waiting

    def best(self) -> DsmPlan | None:
        """The plan of the open offer that ranks first, feasible or not; None for an empty offer."""
        return min(self.plans, key=self._rank, default=None)

    def feasible(self, plan: DsmPlan) -> bool:
        """Whether a plan suits all its scorers."""
        return all(self._levels(plan))

    def readers(self, plan: DsmPlan) -> list[int]:
        """Everybody else whom a plan touches, ascending."""
        return sorted({*self._participants, *plan.outsiders(self._participants)} - {self._me})

    def record(self, seat: int, plan: DsmPlan) -> Reward:
        """What the choice of a plan means for a scorer, by all that it told about this meeting."""
        told = self._scores.get(seat, {})
        return reward(list(told.values()), told.get(plan.id, 0))

    def _levels(self, plan: DsmPlan) -> list[int]:
        told = [self._scores.get(seat, {}).get(plan.id, 0) for seat in self.readers(plan)]
        return [self._own.get(plan.id, 0), *told]

    def _rank(self, plan: DsmPlan) -> tuple[bool, int, int, int, int]:
        levels = self._levels(plan)
        return not all(levels), BEST * len(levels) - sum(levels), len(levels), plan.slot, plan.id
