"""The worlds of a scenario as one table of bits: a whole number holds one bit a world, so knowing more is a bitwise AND.

World w is a truth value for every base atom: bit i of w is the truth of the i-th. A literal is the number whose bit w is set
where it holds in world w; a fact is the AND of its literals, an option's `out` the OR over its rules of the AND of their
literals, derived atoms likewise. Chances are exact: priors are read as the decimals they were written as, and the mass of a set
of worlds is a whole number in units of the product of the priors' denominators.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import and_, or_

from worlds.hidden_profile.rules.scenario import Scenario

LIMIT = 18
"""Base atoms that a table may have: 2^18 worlds, 32 KB a literal."""


@dataclass(frozen=True)
class Table:
    """A scenario's worlds; every number is a set of worlds."""

    scenario: Scenario
    everything: int
    facts: dict[str, int]
    """Fact -> the worlds in which all that it asserts holds."""

    out: dict[str, int]
    """Option -> the worlds in which some rule puts it out."""

    only: dict[str, int]
    """Option -> the worlds in which it is the only one that is not out."""

    one: int
    """The worlds that keep the promise: exactly one option is not out."""

    odds: tuple[tuple[int, int], ...]
    """For each base atom, the whole numbers to which its chances of being false and true are proportional."""

    masses: dict[tuple[int, int], int] = field(default_factory=dict, repr=False, compare=False)
    """What `mass` has found already."""

    def known(self, facts: Iterable[str]) -> int:
        """The worlds in which all these facts hold; raises KeyError for a fact that there is none of."""
        return reduce(and_, (self.facts[fact] for fact in facts), self.everything)

    def mass(self, worlds: int) -> int:
        """The prior mass of a set of worlds, exact; the unit is the same for all sets of this table."""
        return self._mass(len(self.odds), worlds)

    def _mass(self, atoms: int, worlds: int) -> int:
        """Split on the last atom; halves that were seen before cost nothing, and there are few different ones."""
        if not worlds or not atoms:
            return worlds
        found = self.masses.get((atoms, worlds))
        if found is None:
            half = 1 << (atoms - 1)
            false, true = self.odds[atoms - 1]
            low = self._mass(atoms - 1, worlds & ((1 << half) - 1))
            found = false * low + true * self._mass(atoms - 1, worlds >> half)
            self.masses[atoms, worlds] = found
        return found


def tabulate(scenario: Scenario) -> Table:
    """The worlds of a scenario; raises ValueError where it has more base atoms than `LIMIT`."""
    count = len(scenario.base)
    if count > LIMIT:
        raise ValueError(f"{scenario.id} has {count} base atoms, and a table holds {LIMIT}")
    everything = (1 << (1 << count)) - 1
    true = {name: _column(place, count) for place, name in enumerate(scenario.base)}

    def holds(literals: Iterable[str]) -> int:
        return reduce(and_, (everything ^ true[one[1:]] if one[0] == "!" else true[one] for one in literals), everything)

    for name in scenario.derived:
        true[name] = reduce(or_, (holds(rule.when) for rule in scenario.rules if rule.then == name), 0)
    out = {
        option: reduce(or_, (holds(rule.when) for rule in scenario.rules if rule.out == option), 0)
        for option in scenario.option_ids
    }
    only = {
        option: reduce(and_, (worlds for other, worlds in out.items() if other != option), everything & ~out[option])
        for option in out
    }
    facts = {fact.id: holds(fact.asserts) for fact in scenario.facts}
    odds = tuple(_odds(scenario.atoms[name].prior) for name in scenario.base)
    return Table(scenario, everything, facts, out, only, reduce(or_, only.values()), odds)


def _column(place: int, count: int) -> int:
    """The worlds, of 2^count, whose bit `place` is set: runs of 2^place bits, made by doubling."""
    width = 1 << place
    column = ((1 << width) - 1) << width
    for doubling in range(place + 1, count):
        column |= column << (1 << doubling)
    return column


def _odds(prior: float | None) -> tuple[int, int]:
    assert prior is not None, "base atoms have priors"
    chance = Fraction(repr(prior))
    return chance.denominator - chance.numerator, chance.numerator
