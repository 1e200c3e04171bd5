"""Possible worlds of a scenario as bit sets: an integer has one bit per world, so combining facts is a bitwise AND.

World w is a truth value for every base atom that a deck's shared cards leave open: bit i of w is the truth of the i-th. A
literal is the integer whose bit w is set if it holds in world w. A fact is the AND of its literals. An option's `out` is the OR
over its rules of the AND of their literals; derived atoms are computed likewise; a tally groups worlds by the points of each
option.

Known facts *prove* that an option is excluded if it is out in every world that they allow; the promise is not used
(specification, 2.3). They *suggest* an option by the sum of their weights. Contradictory facts exclude nothing, because no
world is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Generic

from typing_extensions import TypeVar

from worlds.hidden_profile.rules.scenario import FactSheet, Frame, Scenario

LIMIT = 20
"""Maximum number of base atoms of a table: 2^20 worlds, 128 KB per literal."""


@dataclass(frozen=True)
class Worlds:
    """The worlds of a frame; every integer is a set of worlds."""

    everything: int
    facts: dict[str, int]
    """Fact -> the worlds in which everything that it asserts holds."""

    out: dict[str, int]
    """Option -> the worlds in which some rule excludes it."""

    only: dict[str, int]
    """Option -> the worlds in which it can be the only one left; others may be out for reasons outside the rules."""

    def matching_worlds(self, facts: Iterable[str]) -> int:
        """Return the worlds in which all these facts hold; raises KeyError for an unknown fact."""
        return reduce(and_, (self.facts[fact] for fact in facts), self.everything)

    def is_consistent(self, known: Iterable[str]) -> bool:
        """Return True if the facts hold in some world."""
        return bool(self.matching_worlds(known))

    def excluded_options(self, known: Iterable[str]) -> frozenset[str]:
        """Return the options that are out in every world that the facts allow; empty if they allow none."""
        worlds = self.matching_worlds(known)
        return frozenset(option for option, out in self.out.items() if worlds and not worlds & ~out)

    def settled_option(self, known: Iterable[str]) -> str | None:
        """Return the only option that the facts and the promise leave, or None."""
        worlds = self.matching_worlds(known)
        left = [option for option, only in self.only.items() if worlds & only]
        return left[0] if len(left) == 1 else None


S = TypeVar("S", bound=FactSheet, default=Scenario)
S_co = TypeVar("S_co", bound=FactSheet, default=Scenario, covariant=True)


@dataclass(frozen=True)
class WorldTable(Worlds, Generic[S_co]):
    """The worlds of a scenario, or of all the texts of a deck; facts are named by their ids."""

    scenario: S_co = field(kw_only=True)


def tabulate(scenario: S) -> WorldTable[S]:
    """Return the worlds of a scenario; raises ValueError if it has more base atoms than `LIMIT`."""
    return WorldTable(**vars(worlds_of(scenario)), scenario=scenario)


def worlds_of(frame: Frame) -> Worlds:
    """Return the worlds of a scenario or of a deck; raises ValueError if it has more base atoms than `LIMIT`."""
    free = [name for name in frame.base_atoms if name not in frame.settled_atoms]
    count = len(free)
    if count > LIMIT:
        raise ValueError(f"{frame.id} has {count} base atoms, and a table holds {LIMIT}")
    everything = (1 << (1 << count)) - 1
    true = {name: everything if holds else 0 for name, holds in frame.settled_atoms.items()}
    true |= {name: _column(place, count) for place, name in enumerate(free)}

    def holds(literals: Iterable[str]) -> int:
        return reduce(and_, (everything ^ true[one[1:]] if one[0] == "!" else true[one] for one in literals), everything)

    for name in frame.derived_atoms:
        true[name] = reduce(or_, (holds(rule.when) for rule in frame.rules if rule.then == name), 0)
    ruled = {
        option: reduce(or_, (holds(rule.when) for rule in frame.rules if rule.out == option), 0) for option in frame.option_ids
    }
    points = (
        {}
        if frame.tally is None
        else {
            option: _sorted(
                {frame.tally.start.get(option, 0): everything}, [(holds([one]), worth) for one, worth in worths.items()]
            )
            for option, worths in frame.tally.points.items()
        }
    )
    out = {option: worlds | _outdone(option, points, ruled) for option, worlds in ruled.items()}
    only = {
        option: reduce(
            and_,
            (worlds for other, worlds in out.items() if other != option and not frame.has_open_rules),
            everything & ~out[option],
        )
        for option in out
    }
    facts = {name: holds(literals) for name, literals in frame.asserted_literals.items()}
    return Worlds(everything, facts, out, only)


def _sorted(sums: dict[int, int], worths: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Map points to the worlds in which an option has them, given its initial points and the points of each literal."""
    for holds, worth in worths:
        before, sums = sums, {}
        for points, worlds in before.items():
            sums[points] = sums.get(points, 0) | worlds & ~holds
            sums[points + worth] = sums.get(points + worth, 0) | worlds & holds
    return sums


def _outdone(option: str, points: Mapping[str, Mapping[int, int]], ruled: Mapping[str, int]) -> int:
    """Return the worlds in which another option that no rule excludes has at least as many points as this one."""
    return reduce(
        or_,
        (
            mine & theirs & ~ruled[other]
            for other, sums in points.items()
            for most, theirs in sums.items()
            for least, mine in points.get(option, {}).items()
            if other != option and most >= least
        ),
        0,
    )


def _column(place: int, count: int) -> int:
    """Return those of 2^count worlds whose bit `place` is set: runs of 2^place bits, made by doubling."""
    width = 1 << place
    column = ((1 << width) - 1) << width
    for doubling in range(place + 1, count):
        column |= column << (1 << doubling)
    return column


def option_impressions(scenario: FactSheet, known: Iterable[str]) -> dict[str, int]:
    """Return the impression that the facts make of each option, in the file's order of options."""
    score = dict.fromkeys(scenario.option_ids, 0)
    for fact in known:
        for option, weight in scenario.by_id[fact].weights.items():
            score[option] += weight
    return score


def proves_key(table: WorldTable, known: Iterable[str]) -> bool:
    """Return True if the facts, with the promise, prove the key."""
    return table.settled_option(known) == table.scenario.key


def eliminator_vote(table: WorldTable[FactSheet], known: Iterable[str]) -> str | None:
    """Return the naive eliminator's vote: the favoured option that is not excluded; None on a tie, which counts as wrong."""
    facts = tuple(known)
    return best_remaining(option_impressions(table.scenario, facts), table.excluded_options(facts))


def best_remaining(score: dict[str, int], gone: AbstractSet[str]) -> str | None:
    """Return the option with the best score that is not gone; None on a tie, or if all are gone."""
    left = {option: points for option, points in score.items() if option not in gone}
    top = max(left.values(), default=0)
    best = [option for option, points in left.items() if points == top]
    return best[0] if len(best) == 1 else None


def leading_option(sheet: FactSheet, shared: Iterable[str]) -> str | None:
    """Return the option that the shared facts favour; None on a tie."""
    return best_remaining(option_impressions(sheet, shared), frozenset())


def second_best_option(sheet: FactSheet, known: Iterable[str]) -> str | None:
    """Return the favoured option of a hand, without the option that its shared facts favour; None on a tie."""
    facts = tuple(known)
    shared = set(sheet.of_scope("shared"))
    leader = leading_option(sheet, [fact for fact in facts if fact in shared])
    return best_remaining(option_impressions(sheet, facts), frozenset([leader] if leader else []))


def least_favoured(scenario: FactSheet, known: Iterable[str]) -> str:
    """Return the least favoured option, whatever is proved; the first one in the file's order on a tie."""
    score = option_impressions(scenario, known)
    return min(score, key=lambda option: score[option])
