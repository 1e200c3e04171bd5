"""The deals of a deck as they are drawn: which option each leaves, which one its shared facts favour, how likely it is.

What a seat that knows the deck by heart may believe is counted over these deals: a belief is the share of their weight that
fits what is known. Either kind has half of the weight, whatever number of deals it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from worlds.hidden_profile.rules import scores
from worlds.hidden_profile.rules.deck import KINDS, Card, Deck, Kind
from worlds.hidden_profile.rules.worlds import Worlds, worlds_of


@dataclass(frozen=True, slots=True)
class Draw:
    """One deal of a deck."""

    kind: Kind
    """As the file has it."""

    versions: str
    key: str | None
    """The option that all facts and the promise leave; None where they leave none, or several."""

    leader: str | None
    """The option that looks best by the shared facts; None on a tie."""

    times: int
    """How often the file lists it."""


class Draws:
    """Every deal of a deck, once each, in the file's order; raises ValueError where the deck has too many atoms for a table."""

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.worlds: Worlds = worlds_of(deck)
        self.all = tuple(
            Draw(kind, versions, key_of(deck, self.worlds, versions), leader_of(deck, versions), times)
            for kind in KINDS
            for versions, times in Counter(deck.deals.of(kind)).items()
        )

    def of(self, kind: Kind) -> tuple[Draw, ...]:
        """The deals of one kind."""
        return tuple(draw for draw in self.all if draw.kind == kind)

    @cached_property
    def chance(self) -> Mapping[Draw, Fraction]:
        """How likely each deal is among those of its kind."""
        listed = Counter({kind: len(self.deck.deals.of(kind)) for kind in KINDS})
        return {draw: Fraction(draw.times, listed[draw.kind]) for draw in self.all}

    def belief(self, texts: Iterable[str]) -> dict[str, Fraction] | None:
        """The chance of each option, by the deals that show all these texts; None where no deal does."""
        known = frozenset(texts)
        chances = dict.fromkeys(self.deck.option_ids, Fraction(0))
        for draw, chance in self.chance.items():
            if draw.key is not None and known <= self._shown[draw.versions]:
                chances[draw.key] += chance
        total = sum(chances.values())
        return {option: chance / total for option, chance in chances.items()} if total else None

    @cached_property
    def _shown(self) -> dict[str, frozenset[str]]:
        return {draw.versions: frozenset(self.deck.texts(draw.versions)) for draw in self.all}


def key_of(deck: Deck, worlds: Worlds, versions: str) -> str | None:
    """The option that a deal's facts leave alone, with the promise; None for none or several."""
    return scores.settled(worlds, deck.texts(versions))


def leader_of(deck: Deck, versions: str, seat: int | None = None) -> str | None:
    """The option that looks best by the shared facts, or on the hand of a seat (from 1); None on a tie."""
    return leading(deck, versions, deck.of_scope("shared") if seat is None else deck.seen_by(seat))


def leading(deck: Deck, versions: str, cards: Iterable[Card]) -> str | None:
    """The option that looks best by these cards; None on a tie."""
    numbers = deck.numbers(versions)
    score = dict.fromkeys(deck.option_ids, 0)
    for card in cards:
        for option, weight in card.texts[numbers[card.id]].weights.items():
            score[option] += weight
    return scores.eliminate(score, frozenset())
