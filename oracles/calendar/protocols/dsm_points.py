"""The books of DSM: what a scorer pays for its scores, and what it is given back when a plan is chosen.

A level s > 0 costs D - 1 - s points. Whose plan was chosen gets R = (D - 1 - s*) + max(0, min(A, L) - 1): what it concedes, and
one point for each further plan that it left open; nothing where it concedes nothing or cannot (paper, Appendix D.3; Farhadi and
Jennings 2021). The books are kept and reported. They move nobody: no client looks at its points when it scores or chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from oracles.calendar.protocols.dsm_scoring import BEST

BUDGET = 100
"""Points that every seat begins with."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The record of one scorer in one decision, as the message carries it."""

    selected_score: int
    availability: int
    """A: plans with a level above 0."""

    flexibility: int
    """Sum over levels s of count(s) (A + 1)^s: grows with more plans and with higher levels; reported, not paid."""

    scoring_cost: int
    """Points that its scores cost, all offers of the meeting together."""

    reward: int
    """R."""

    def record(self) -> Mapping[str, int]:
        """The fields of the message."""
        return asdict(self)


def reward(scores: Sequence[int], selected: int) -> Reward:
    """The record for the levels that one seat reported, and its level of the chosen plan."""
    feasible = [score for score in scores if score > 0]
    available = len(feasible)
    flexibility = sum((available + 1) ** score for score in feasible)
    paid = 0 if selected in (0, BEST) else BEST - selected + max(0, min(available, len(scores)) - 1)
    return Reward(selected, available, flexibility, sum(BEST - score for score in feasible), paid)


def settled(points: int, gained: int, paid: int) -> int:
    """A budget after one decision; it never falls below 0."""
    return max(0, points + gained - paid)
