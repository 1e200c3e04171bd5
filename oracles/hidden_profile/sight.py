"""What one seat has before it in one deal, and what it is to guess from that without a word said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from oracles.hidden_profile.guessers import Handout, handout
from worlds.hidden_profile.rules import scores
from worlds.hidden_profile.rules.scenario import Fact, Scenario

Options = tuple[str, ...]


@dataclass(frozen=True)
class Sight:
    """What one seat has before it in one deal; seats count from 1."""

    scenario: Scenario
    seat: int

    @cached_property
    def shared(self) -> tuple[Fact, ...]:
        """The facts that everybody has."""
        return self._of("shared")

    @cached_property
    def private(self) -> tuple[Fact, ...]:
        """The deciding facts that it has itself."""
        return self._of("private")

    @cached_property
    def idle(self) -> tuple[Fact, ...]:
        """Its idle notes."""
        return self._of("noise")

    @cached_property
    def leader(self) -> str | None:
        """The option that looks best by the shared facts."""
        return scores.leading(self.scenario, [fact.id for fact in self.shared])

    def impression(self, *facts: Fact) -> dict[str, int]:
        """How each option looks by these facts."""
        return scores.surface(self.scenario, [fact.id for fact in facts])

    @cached_property
    def handout(self) -> Handout:
        """The brief and all its facts, as a guesser by words reads them."""
        return handout(self.scenario, [fact.id for fact in (*self.shared, *self.private, *self.idle)])

    def _of(self, scope: str) -> tuple[Fact, ...]:
        held = (fact for fact in self.scenario.facts if fact.scope == scope)
        return tuple(fact for fact in held if scope == "shared" or self.seat in fact.holders)


Adversary = Callable[[Sight], Options]
"""From what a seat has before it to the options that it cannot choose between."""
