"""C9: what a hand tells, without a word said, to a seat that knows the deck by heart; exact, over the deals as drawn.

For each seat, h over the hands that it can be dealt and o over the options:
(a) sum_h max_o [P(h, key = o | hidden) + P(h, key = o | manifest)] - 1 is the most that any rule by one hand can make of
    informedness, J = Y_hidden + Y_manifest - 1. Always following the leader and always rejecting it make 0.
(b) sum_h max_o P(h, key = o | hidden) is the most that it can make of the hidden deals alone; with M options that can be the
    key there, a blind guess among them makes 1/M.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from worlds.hidden_profile.rules.deck import Card, Deck, Draw, Draws

INFORMED_MOST = Fraction(10, 100)
"""The bound of (a) for every seat, and of (b) above 1/M."""

INFORMED_MEAN = Fraction(5, 100)
"""The bound of the mean over scenarios of each one's worst seat, (a)."""


@dataclass(frozen=True, slots=True)
class Tell:
    """How much the hands of one seat give away."""

    seat: int
    informed: Fraction
    """(a)"""

    hidden: Fraction
    """(b)"""


def keys(draws: Draws) -> tuple[str, ...]:
    """The options that are the key of some hidden deal, in the file's order; there are M."""
    those = {draw.key for draw in draws.of("hidden")}
    return tuple(option for option in draws.deck.option_ids if option in those)


def tells(draws: Draws) -> tuple[Tell, ...]:
    """Both sums for each seat."""
    return tuple(_tell(draws, seat) for seat in draws.deck.seats)


def hand_of(deck: Deck, draw: Draw, seat: int) -> tuple[str, ...]:
    """What a seat reads in a deal: the texts of the shared cards and of its own."""
    return deck.texts(draw.versions, deck.seen_by(seat))


def _tell(draws: Draws, seat: int) -> Tell:
    return Tell(seat, *told_by(draws, draws.deck.seen_by(seat)))


def told_by(draws: Draws, cards: Sequence[Card]) -> tuple[Fraction, Fraction]:
    """Both sums for a hand of these cards."""
    both: defaultdict[tuple[str, ...], defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    hidden: defaultdict[tuple[str, ...], defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for draw, chance in draws.chance.items():
        hand, key = draws.deck.texts(draw.versions, cards), draw.key or ""
        both[hand][key] += chance
        if draw.kind == "hidden":
            hidden[hand][key] += chance
    informed = sum((max(chances.values()) for chances in both.values()), Fraction(-1))
    return informed, sum((max(chances.values()) for chances in hidden.values()), Fraction(0))
