"""What is dealt, who sits where, in which order it is shown: every draw from its own stream of the seed.

Of a deck, seeds 2j and 2j + 1 are a pair: one has a hidden deal and one a manifest one, in an order that a stream of the pair
decides. The hands that a task was authored with stay whole; who sits where is drawn. In the condition `full` everybody holds
everything, in `shared_only` nobody more than what all share. Options are shown in one order per session.
"""

from __future__ import annotations

from dataclasses import dataclass

from worlds.core.chance import Chance
from worlds.hidden_profile.rules.deck import KINDS, Deck, Kind
from worlds.hidden_profile.rules.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Deal:
    """One session's deal; seats count from 0."""

    people: tuple[int, ...]
    """By seat: which of the scenario's hands (from 1) it has."""

    hands: tuple[tuple[str, ...], ...]
    """By seat: ids of its facts, in the order shown."""

    options: tuple[str, ...]
    """Ids, in the order shown."""


def draw(deck: Deck, how: str, chance: Chance, seed: int) -> tuple[Kind, str]:
    """The kind of deal that a seed has, and which of these: `how` is hidden, manifest or mixed.

    Seed 0 is a hidden deal in any mixture: it is the one seed that other harnesses play.
    """
    turned = chance.paired("kind").below(2) if seed > 1 else 0
    kind = next((kind for kind in KINDS if kind == how), KINDS[(seed + turned) % 2])
    return kind, chance("draw").choice(deck.deals.of(kind))


def deal(scenario: Scenario, condition: str, chance: Chance) -> Deal:
    """Deal one session."""
    people = list(scenario.seats)
    chance("deal").shuffle(people)
    hands = [list(_hand(scenario, person, condition)) for person in people]
    for seat, hand in enumerate(hands):
        chance(f"order:{seat}").shuffle(hand)
    options = list(scenario.option_ids)
    chance("options").shuffle(options)
    return Deal(tuple(people), tuple(tuple(hand) for hand in hands), tuple(options))


def _hand(scenario: Scenario, person: int, condition: str) -> tuple[str, ...]:
    shared = scenario.of_scope("shared")
    if condition == "full":
        return tuple(fact.id for fact in scenario.facts)
    return shared if condition == "shared_only" else (*shared, *scenario.hand(person))
