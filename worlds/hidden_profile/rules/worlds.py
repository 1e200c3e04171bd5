"""The worlds of a scenario as one table of bits: a whole number holds one bit a world, so knowing more is a bitwise AND.

World w is a truth value for every base atom: bit i of w is the truth of the i-th. A literal is the number whose bit w is set
where it holds in world w; a fact is the AND of its literals, an option's `out` the OR over its rules of the AND of their
literals, derived atoms likewise; a tally sorts worlds by the points of each option. Chances are exact: priors are read as the
decimals they were written as, even odds where there are none, and the mass of a set of worlds is a whole number in units of the
product of the priors' denominators.

What a set of known facts proves, what it suggests, and how plain listeners vote on it (specification, 2.3). *Proves*: an option
is excluded when it is out in every world that the facts allow; the promise is not used. *Suggests*: the sum of the weights. A
contradiction excludes nothing: there is no world left to read it in.
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

LIMIT = 18
"""Base atoms that a table may have: 2^18 worlds, 32 KB a literal."""


@dataclass(frozen=True)
class Worlds:
    """The worlds of a frame; every number is a set of worlds."""

    everything: int
    facts: dict[str, int]
    """What can be known -> the worlds in which all that it asserts holds."""

    out: dict[str, int]
    """Option -> the worlds in which some rule puts it out."""

    only: dict[str, int]
    """Option -> the worlds in which it can be the only one that is not out; others may be out for what no rule tells."""

    def known(self, facts: Iterable[str]) -> int:
        """The worlds in which all these facts hold; raises KeyError for a fact that there is none of."""
        return reduce(and_, (self.facts[fact] for fact in facts), self.everything)


S = TypeVar("S", bound=FactSheet, default=Scenario)
S_co = TypeVar("S_co", bound=FactSheet, default=Scenario, covariant=True)


@dataclass(frozen=True)
class WorldTable(Worlds, Generic[S_co]):
    """The worlds of a scenario, or of all the texts of a deck; facts go by their ids."""

    scenario: S_co = field(kw_only=True)


def tabulate(scenario: S) -> WorldTable[S]:
    """The worlds of a scenario; raises ValueError where it has more base atoms than `LIMIT`."""
    return WorldTable(**vars(worlds_of(scenario)), scenario=scenario)


def worlds_of(frame: Frame) -> Worlds:
    """The worlds of a scenario or of a deck; raises ValueError where it has more base atoms than `LIMIT`."""
    count = len(frame.base)
    if count > LIMIT:
        raise ValueError(f"{frame.id} has {count} base atoms, and a table holds {LIMIT}")
    everything = (1 << (1 << count)) - 1
    true = {name: _column(place, count) for place, name in enumerate(frame.base)}

    def holds(literals: Iterable[str]) -> int:
        return reduce(and_, (everything ^ true[one[1:]] if one[0] == "!" else true[one] for one in literals), everything)

    for name in frame.derived:
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
            and_, (worlds for other, worlds in out.items() if other != option and not frame.doubted), everything & ~out[option]
        )
        for option in out
    }
    facts = {name: holds(literals) for name, literals in frame.asserted.items()}
    return Worlds(everything, facts, out, only)


def _sorted(sums: dict[int, int], worths: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Points -> the worlds in which an option has them: those it starts with, and a number more where a literal holds."""
    for holds, worth in worths:
        before, sums = sums, {}
        for points, worlds in before.items():
            sums[points] = sums.get(points, 0) | worlds & ~holds
            sums[points + worth] = sums.get(points + worth, 0) | worlds & holds
    return sums


def _outdone(option: str, points: Mapping[str, Mapping[int, int]], ruled: Mapping[str, int]) -> int:
    """The worlds in which another option, that no rule puts out, has as many points as this one or more."""
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
    """The worlds, of 2^count, whose bit `place` is set: runs of 2^place bits, made by doubling."""
    width = 1 << place
    column = ((1 << width) - 1) << width
    for doubling in range(place + 1, count):
        column |= column << (1 << doubling)
    return column


def excluded(table: Worlds, known: Iterable[str]) -> frozenset[str]:
    """The options that are out in every world that the facts allow."""
    worlds = table.known(known)
    return frozenset(option for option, out in table.out.items() if worlds and not worlds & ~out)


def surface(scenario: FactSheet, known: Iterable[str]) -> dict[str, int]:
    """The impression that the facts make of each option, in the file's order of options."""
    score = dict.fromkeys(scenario.option_ids, 0)
    for fact in known:
        for option, weight in scenario.by_id[fact].weights.items():
            score[option] += weight
    return score


def settled(table: Worlds, known: Iterable[str]) -> str | None:
    """The option that the facts and the promise leave alone, or None."""
    worlds = table.known(known)
    left = [option for option, only in table.only.items() if worlds & only]
    return left[0] if len(left) == 1 else None


def entails(table: WorldTable, known: Iterable[str]) -> bool:
    """Return whether the facts, with the promise, prove the key."""
    return settled(table, known) == table.scenario.key


def eliminator(table: WorldTable[FactSheet], known: Iterable[str]) -> str | None:
    """The naive eliminator's vote: the best-looking option that is not excluded; None on a tie, which counts as wrong."""
    facts = tuple(known)
    return eliminate(surface(table.scenario, facts), excluded(table, facts))


def eliminate(score: dict[str, int], gone: AbstractSet[str]) -> str | None:
    """The best score among the options that are not gone; None on a tie, or where all are gone."""
    left = {option: points for option, points in score.items() if option not in gone}
    top = max(left.values(), default=0)
    best = [option for option, points in left.items() if points == top]
    return best[0] if len(best) == 1 else None


def leading(sheet: FactSheet, shared: Iterable[str]) -> str | None:
    """The option that looks best by the shared facts; None on a tie."""
    return eliminate(surface(sheet, shared), frozenset())


def second_best(sheet: FactSheet, known: Iterable[str]) -> str | None:
    """Return what looks best on a hand once the option that its shared facts speak for is struck out; None on a tie."""
    facts = tuple(known)
    shared = set(sheet.of_scope("shared"))
    leader = leading(sheet, [fact for fact in facts if fact in shared])
    return eliminate(surface(sheet, facts), frozenset([leader] if leader else []))


def contrarian(scenario: FactSheet, known: Iterable[str]) -> str:
    """The option that looks worst, whatever is proved; the first in the file's order among equals."""
    score = surface(scenario, known)
    return min(score, key=lambda option: score[option])
