"""How many plans to offer at once: the size that maximises expected utility (paper, Appendix D.3).

U(L) = q v + w q - theta c L - beta (1 - q), where q = 1 - (1 - p)^L is the chance that one of L plans suits everybody, v the
mean own level of the L best, and p a guess from the own calendar alone: everybody is as busy as I am. More offers find a plan
sooner and tell more; theta against beta is the dial between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oracles.calendar.protocols.dsm_scoring import BEST
from worlds.calendar.rules.items import Cells

PRIVACY = 1.0
"""c: what the disclosure of one plan counts for."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One operating point (paper, Table 9)."""

    smallest: int
    """L_min: plans in an offer."""

    largest: int
    """L_max."""

    beta: float
    """What a failed offer costs."""

    theta: float
    """What each disclosed plan costs."""

    social: float
    """w: what success is worth beside the own level."""

    depth: int
    """Meetings that one plan may move, one for the other."""

    targets: int
    """Chains considered for each slot."""

    exhaustive: bool
    """Whether offers go on until one suits or none is left; if not, only while an offer is worth more than none."""


WELFARE = Preset(1, 12, beta=1.0, theta=0.0, social=1.0, depth=2, targets=4, exhaustive=True)
PRIVATE = Preset(1, 2, beta=0.25, theta=10.0, social=0.25, depth=1, targets=2, exhaustive=False)
PRIVATE_EXHAUSTIVE = Preset(1, 2, beta=0.25, theta=10.0, social=0.25, depth=1, targets=2, exhaustive=True)


def chance(cells: Cells, responders: int) -> float:
    """p: the guessed chance that a plan suits all responders, in .01...95; every occupied cell counts as busy."""
    busy = sum(item is not None for item in cells)
    free = min(max(1 - busy / len(cells), 0.05), 0.95)
    return float(min(max(free ** max(1, responders), 0.01), 0.95))


def utility(levels: Sequence[int], p: float, preset: Preset) -> float:
    """U(L) of offering plans that have these own levels."""
    size = len(levels)
    q = 1 - (1 - p) ** size
    own = sum(levels) / size / BEST
    return q * own + preset.social * q - preset.theta * PRIVACY * size - preset.beta * (1 - q)


def offer_size(levels: Sequence[int], p: float, preset: Preset) -> tuple[int, float]:
    """The best L for untried plans with these own levels, best first, and its U(L); the smallest L on ties, 0 for no plans."""
    sizes = range(min(preset.smallest, len(levels)), min(preset.largest, len(levels)) + 1)
    worth = [(utility(levels[:size], p, preset), -size) for size in sizes if size]
    if not worth:
        return 0, -preset.beta
    best, negative = max(worth)
    return -negative, best
