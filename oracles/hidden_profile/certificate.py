"""Certificates of scenarios and decks, and the numbers of people for whom a deck holds.

A scenario with one deal names its key in the file, so nothing is proved of it (decision 0022): its certificate has its hands,
and the scores of guessers by words. The scores of a deck's groups are exact: every group plays every deal, weighted by its
probability; they become floats at the end.

A deck for another number of people combines or splits hands (docs/hidden-profile.md, "Other numbers of people"); no hand is
both split and combined. A dealing is tested hand by hand (C2, C3, C9), since results depend only on a hand's cards, and the one
whose worst hand tells least, the first of a tie, is then proved completely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

from oracles.hidden_profile import session
from oracles.hidden_profile.decks import (
    MAX_INFORMEDNESS,
    PAIRS,
    find_solo_errors,
    hidden_keys,
    measure_cards,
    measure_hands,
    necessary_cards,
    prove_deck,
)
from oracles.hidden_profile.groups import UNIFORM
from oracles.hidden_profile.guessers import score_guessers
from worlds.hidden_profile.rules.certificate import Accuracy, Certificate, DealRow, SizeRow, TellRow
from worlds.hidden_profile.rules.deck import KINDS, Card, Deck, Draw, Draws, Hands, Kind, has_other_count, resize_deck
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import Worlds, tabulate


def certify(scenario: Scenario) -> Certificate:
    """Return the certificate of a scenario with one deal, which states that nothing is proved."""
    hands = {str(seat): scenario.hand(seat) for seat in scenario.seats}
    return Certificate(scenario=scenario.id, certified=False, hands=hands, guessers=score_guessers(scenario))


FEWEST, MOST = 3, 8
"""Numbers of people that a deck may be for."""

Partition = list[list[int]]


class Sized(NamedTuple):
    """One number of people that a deck is for."""

    people: int
    hands: Hands
    informed: Fraction
    """C9 (a) of the worst hand."""

    hidden: Fraction
    """C9 (b) of the worst hand."""


def find_sizes(deck: Deck) -> tuple[Sized, ...]:
    """Return every other number of people for which a dealing holds; raises ValueError if a table is too large."""
    words = [deck.brief, *(text.text for card in deck.cards for text in card.texts)]
    if deck.named or any(has_other_count(text, deck.agents) for text in words):
        return ()
    case = _Case(deck)
    dealings = (case.best(people) for people in range(FEWEST, MOST + 1) if people != deck.agents)
    return tuple(one for one in dealings if one is not None)


class _Case:
    """One deck, with cached results on its hands."""

    def __init__(self, deck: Deck) -> None:
        self._deck, self._draws = deck, Draws(deck)
        self._logic = self._draws.worlds
        self._shared = deck.of_scope("shared")
        self._private = {card.id: card for card in deck.of_scope("private")}
        self._notes = {seat: [c.id for c in deck.of_scope("noise") if seat in c.holders] for seat in deck.seats}
        self._held = {seat: [c.id for c in self._private.values() if seat in c.holders] for seat in deck.seats}
        needed = (necessary_cards(deck, self._logic, draw.versions) for draw in self._draws.all)
        self._needed = [frozenset(card.id for card in cards) for cards in needed]
        self._most_hidden = Fraction(1, max(len(hidden_keys(self._draws)), 1)) + MAX_INFORMEDNESS
        self._told = cache(self._told_by)

    def best(self, people: int) -> Sized | None:
        """Return the valid dealing to `people` people that tells least; None if there is none."""
        dealings = self._merged(people) if people < self._deck.agents else self._parted(people)
        holding = []
        for hands in dealings:
            if self._enough(hands) and all(tells := [self._told(self._own(hand)) for hand in hands]):
                worst = [max(tell[place] for tell in tells if tell) for place in (0, 1)]
                holding.append(Sized(people, hands, *worst))
        for one in sorted(holding, key=lambda one: one[2:]):
            if set(prove_deck(resize_deck(self._deck, one.hands), self._logic).failed_checks) <= {PAIRS}:
                return one
        return None

    def _merged(self, people: int) -> Iterator[Hands]:
        for groups in iter_partitions(list(self._deck.seats), people):
            yield tuple(
                tuple(dict.fromkeys(card for seat in group for card in (*self._held[seat], *self._notes[seat])))
                for group in groups
            )

    def _parted(self, people: int) -> Iterator[Hands]:
        """Yield the dealings that leave each hand whole or split it."""
        ways = [list(self._parts(seat)) for seat in self._deck.seats]
        for chosen in product(*ways):
            if sum(map(len, chosen)) == people:
                yield tuple(hand for parts in chosen for hand in parts)

    def _parts(self, seat: int) -> Iterator[Hands]:
        held, notes = self._held[seat], self._notes[seat]
        for count in range(1, max(len(held), 1) + 1):
            ways: Iterator[Partition] = iter_partitions(list(range(len(held))), count) if held else iter([[[]]])
            for groups in ways:
                yield tuple(
                    (*(held[place] for place in group), *(notes[number::count] or notes[number % len(notes) :][:1]))
                    for number, group in enumerate(groups)
                )

    def _own(self, hand: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(card for card in hand if card in self._private))

    def _enough(self, hands: Hands) -> bool:
        """Return True if enough people hold a necessary card in every deal (C3)."""
        least = max(2, len(hands) - 1)
        return all(sum(not needed.isdisjoint(hand) for hand in hands) >= least for needed in self._needed)

    def _told_by(self, own: tuple[str, ...]) -> tuple[Fraction, Fraction] | None:
        """Return the information in a hand with these private cards; None if it is too high, or if C2 fails."""
        cards: list[Card] = [*self._shared, *(self._private[card] for card in own)]
        informed, hidden = measure_cards(self._draws, cards)
        if informed > MAX_INFORMEDNESS or hidden > self._most_hidden:
            return None
        against = (one for draw in self._draws.all for one in find_solo_errors(self._deck, self._logic, draw, cards))
        return None if any(against) else (informed, hidden)


def iter_partitions(items: list[int], count: int) -> Iterator[Partition]:
    """Yield every partition of the items into `count` non-empty groups."""
    if not items:
        if not count:
            yield []
        return
    first, rest = items[0], items[1:]
    if count:
        for groups in iter_partitions(rest, count - 1):
            yield [[first], *groups]
    for groups in iter_partitions(rest, count):
        for place in range(len(groups)):
            yield [*groups[:place], [first, *groups[place]], *groups[place + 1 :]]


GROUPS = (*UNIFORM, "withhold", "one_liar")
MEASURES = ("average", "majority", "grounded")


def certify_deck(deck: Deck) -> Certificate:
    """Return the certificate, certified or not; raises ValueError if the deck has too many atoms for a table of worlds."""
    proof, draws = prove_deck(deck), Draws(deck)
    known = Certificate(
        scenario=deck.id, certified=proof.is_certified, mechanism=deck.mechanism,
        open=tuple(card.id for card in deck.open_cards),
        deals=tuple(_row(deck, draws.worlds, draw) for draw in draws.all if draw.key and draw.leader),
        tells=tuple(TellRow(seat=t.seat, informed=float(t.informed), hidden=float(t.hidden)) for t in measure_hands(draws)),
        keys=hidden_keys(draws), checks=proof.checks,
    )  # fmt: skip
    if not proof.is_certified:
        return known
    rows = tuple(
        SizeRow(people=one.people, hands=one.hands, informed=float(one.informed), hidden=float(one.hidden))
        for one in find_sizes(deck)
    )
    return known.model_copy(update={"sizes": rows, "by_kind": {kind: score_groups(draws, kind) for kind in KINDS}})


def score_groups(draws: Draws, kind: Kind) -> dict[str, Accuracy]:
    """Return the scores of each group over the deals of a kind."""
    total = {name: dict.fromkeys(MEASURES, Fraction(0)) for name in GROUPS}
    for draw in draws.of_kind(kind):
        table = tabulate(draws.deck.scenario(draw.versions, draw.key or "", draw.leader or ""))
        for name, sums in total.items():
            played = session.score_group(table, name)
            for measure in MEASURES:
                sums[measure] += draws.chance[draw] * getattr(played, measure)
    return {
        name: Accuracy.model_validate({measure: float(value) for measure, value in sums.items()})
        for name, sums in total.items()
    }


def _row(deck: Deck, logic: Worlds, draw: Draw) -> DealRow:
    needed = tuple(card.id for card in necessary_cards(deck, logic, draw.versions))
    return DealRow(
        kind=draw.kind, versions=draw.versions, key=draw.key or "", leader=draw.leader or "", necessary=needed, times=draw.times
    )
