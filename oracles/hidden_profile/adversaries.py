"""Guessers that read one hand and hear nothing: rules that somebody who knows how such tasks are written would try.

Each is a function from what a seat can see in a deal to the options it cannot choose between; its score is the key's share of
them. They are played over every deal of a deck and every seat, so scores are exact. Check C9 bounds all rules by one hand of
one deck at once; these are the ones that once broke a suite, by name, and two that learn from the other decks (`learned`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from oracles.hidden_profile.guessers import GUESSERS as BY_TEXT
from oracles.hidden_profile.guessers import share
from oracles.hidden_profile.learned import LESSONS, learned
from oracles.hidden_profile.sight import Adversary, Options, Sight
from oracles.hidden_profile.tells import hand_of
from worlds.hidden_profile.rules.deck import KINDS
from worlds.hidden_profile.rules.draws import Draws


def ranked(seen: Sight, rank: int, *, hand: bool) -> Options:
    """The options that look `rank`-th best, from 1, by the shared facts or by the hand; the worst where there are fewer."""
    score = seen.impression(*seen.shared, *(seen.private if hand else ()))
    places = sorted(set(score.values()), reverse=True)
    wanted = places[min(rank, len(places)) - 1]
    return tuple(option for option, points in score.items() if points == wanted)


def not_the_leader(seen: Sight) -> Options:
    """Any option but the leader."""
    return tuple(option for option in seen.scenario.option_ids if option != seen.leader)


def own_note(seen: Sight, *, avoided: bool) -> Options:
    """Of those but the leader, the options that its own deciding facts touch, or do not touch."""
    touched = {option for fact in seen.private for option in fact.about}
    return _of_the_others(seen, lambda option: (option in touched) is not avoided)


def idle_note(seen: Sight) -> Options:
    """Of those but the leader, the options that its idle notes name."""
    named = {option for fact in seen.idle for option in fact.about}
    return _of_the_others(seen, lambda option: option in named)


def mentioned(seen: Sight, *, most: bool) -> Options:
    """Of those but the leader, the option that its notes touch most, or least."""
    counts = Counter(option for fact in (*seen.private, *seen.idle) for option in fact.about)
    others = not_the_leader(seen)
    wanted = (max if most else min)(counts[option] for option in others)
    return tuple(option for option in others if counts[option] == wanted)


def by_sign(seen: Sight, sign: int) -> Options:
    """The option for which (1) or against which (-1) its own deciding facts speak most."""
    score = seen.impression(*seen.private)
    best = max(sign * points for points in score.values())
    return tuple(option for option, points in score.items() if sign * points == best)


def second_guess(seen: Sight) -> Options:
    """The rule that once found 72 %: not the leader nor what my note is about, else what my idle note names, else second."""
    others = own_note(seen, avoided=True)
    named = tuple(option for option in others if any(option in fact.about for fact in seen.idle))
    return others if len(others) == 1 else named or ranked(seen, 2, hand=False)


ADVERSARIES: Mapping[str, Adversary] = {
    **{f"rank {rank} by shared facts": partial(ranked, rank=rank, hand=False) for rank in (1, 2, 3)},
    **{f"rank {rank} by hand": partial(ranked, rank=rank, hand=True) for rank in (2, 3)},
    "worst by hand": partial(ranked, rank=99, hand=True),
    "any but the leader": not_the_leader,
    "what my note is about": partial(own_note, avoided=False),
    "what my note is not about": partial(own_note, avoided=True),
    "what my idle note names": idle_note,
    "most mentioned to me": partial(mentioned, most=True),
    "least mentioned to me": partial(mentioned, most=False),
    "what my notes speak for": partial(by_sign, sign=1),
    "what my notes speak against": partial(by_sign, sign=-1),
    "note, idle note, second": second_guess,
    **{f"by text, {name}": partial(lambda seen, guess: guess(seen.handout), guess=guess) for name, guess in BY_TEXT.items()},
    **{f"learned, {lesson}": partial(learned, lesson=lesson) for lesson in LESSONS},
}
"""By name."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What a guesser scores over the deals of one deck, seats taken together."""

    hidden: Fraction
    manifest: Fraction

    @property
    def informed(self) -> Fraction:
        """Informedness, J."""
        return self.hidden + self.manifest - 1


def guessed_by_hand(draws: Draws, adversary: Adversary) -> Guess:
    """The expected score of an adversary on a deck, exact."""
    told: dict[tuple[str, ...], Options] = {}
    total = dict.fromkeys(KINDS, Fraction(0))
    for draw, chance in draws.chance.items():
        scenario = draws.deck.scenario(draw.versions, draw.key or "", draw.leader or "")
        for seat in scenario.seats:
            if (hand := hand_of(draws.deck, draw, seat)) not in told:
                told[hand] = adversary(Sight(scenario, seat))
            total[draw.kind] += chance * share(told[hand], scenario.key) / scenario.agents
    return Guess(**total)


def _of_the_others(seen: Sight, wanted: Callable[[str], bool]) -> Options:
    """The options but the leader of which something is so; all of these where it is of none."""
    others = not_the_leader(seen)
    return tuple(filter(wanted, others)) or others
