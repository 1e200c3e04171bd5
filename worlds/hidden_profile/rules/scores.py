"""What a set of known facts proves, what it suggests, and how plain listeners vote on it (specification, 2.3).

*Proves*: an option is excluded when it is out in every world that the facts allow; the promise is not used. *Suggests*: the sum
of the weights. A contradiction excludes nothing: there is no world left to read it in.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from worlds.hidden_profile.rules.scenario import FactSheet
from worlds.hidden_profile.rules.worlds import Worlds, WorldTable


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
    """Whether the facts, with the promise, prove the key."""
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
    """What looks best on a hand once the option that its shared facts speak for is struck out; None on a tie."""
    facts = tuple(known)
    shared = set(sheet.of_scope("shared"))
    leader = leading(sheet, [fact for fact in facts if fact in shared])
    return eliminate(surface(sheet, facts), frozenset([leader] if leader else []))


def contrarian(scenario: FactSheet, known: Iterable[str]) -> str:
    """The option that looks worst, whatever is proved; the first in the file's order among equals."""
    score = surface(scenario, known)
    return min(score, key=lambda option: score[option])
