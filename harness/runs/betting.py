"""A bet on the differences between two players, task by task, whose gain may be looked at after every task.

Each task gives a difference d in -1..1. Forty gamblers begin with one coin each: half of them bet a fixed share of what they
have on the first player, half on the second. Where neither is better no strategy of stopping makes a bettor rich, by Ville's
inequality, so an e-value of 1 / alpha or more decides, and at most a share of alpha of all such runs decides wrongly however
often anybody looks (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting").

1. A side's capital is the mean of its gamblers'. The e-value is half of the richer side's, so both sides share alpha.
2. Betting against "the mean is m" instead of "the mean is 0" gives for every m a capital; those m that no side gets rich
   against are the confidence sequence. It covers the mean at all times at once. The plain mean after stopping does not: a run
   that stops when the difference looks large has a mean that is too large.
3. Nothing here needs more than the standard library, and nothing is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_GAMBLERS = 20
"""On each side."""

SHARES = tuple((place + 0.5) / _GAMBLERS for place in range(_GAMBLERS))
"""What each gambler of a side bets of the capital; less than all, so that nobody is ever ruined."""

_HALVINGS = 40
"""Steps in which an end of the confidence sequence is closed in on."""


_LARGEST = 700.0
"""Of a capital's logarithm: more does not fit, and nobody needs it."""


@dataclass(frozen=True)
class Bet:
    """How the bet stands after some tasks."""

    first: float
    """Capital of those who bet that the first player is better; beside it that of the others."""

    second: float

    @property
    def e_value(self) -> float:
        """Evidence against "neither is better"; decided at 1 / alpha."""
        return max(self.first, self.second) / 2

    def winner(self, alpha: float) -> int | None:
        """0 for the first player, 1 for the second, None while that is open."""
        if self.e_value < 1 / alpha:
            return None
        return 0 if self.first >= self.second else 1


def bet(differences: Sequence[float], mean: float = 0.0) -> Bet:
    """The bet against this mean after these differences, first player minus second, each in -1..1."""
    moves = [(d - mean) / (1 + abs(mean)) for d in differences]
    first, second = (
        _capital([math.fsum(math.log1p(share * sign * move) for move in moves) for share in SHARES]) for sign in (1, -1)
    )
    return Bet(first, second)


def path(differences: Sequence[float]) -> list[Bet]:
    """The bet after each of these differences."""
    logarithms = {sign: [0.0] * len(SHARES) for sign in (1, -1)}
    bets = []
    for d in differences:
        for sign, grown in logarithms.items():
            logarithms[sign] = [log + math.log1p(share * sign * d) for log, share in zip(grown, SHARES, strict=True)]
        bets.append(Bet(_capital(logarithms[1]), _capital(logarithms[-1])))
    return bets


def confidence_sequence(differences: Sequence[float], alpha: float) -> tuple[float, float]:
    """All means that these differences do not decide against: covers the true one at every time at once, with 1 - alpha."""
    if not differences:
        return -1.0, 1.0
    centre = math.fsum(differences) / len(differences)
    return _end(differences, centre, -1.0, alpha), _end(differences, centre, 1.0, alpha)


def _end(differences: Sequence[float], inside: float, outside: float, alpha: float) -> float:
    """Where the bet begins to decide between a mean that it does not decide against and the edge of the range."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if bet(differences, middle).winner(alpha) is None:
            inside = middle
        else:
            outside = middle
    return outside


def _capital(logarithms: Sequence[float]) -> float:
    """The mean capital of gamblers, each told by its logarithm."""
    return math.fsum(math.exp(min(_LARGEST, logarithm)) for logarithm in logarithms) / len(logarithms)
