"""Guessers that see one hand and no discussion: rules that a reader who knows how such tasks are written would try.

Each is a function from a seat's view of a deal (`Sight`) to the options among which it cannot choose; its score is the key's
share of them. They are evaluated over every deal and every seat of a deck, so scores are exact. Check C9 bounds all rules that
use one hand of one deck; the named rules here once broke a suite, and two rules learn from other decks.

The learned guesser is a linear score over the visible features of each option, fitted as a logistic regression of "is the key"
over all hands of all deals of all decks but the one that it guesses. Its weights are data (`learned.json`), so scikit-learn is
not needed here; `tests/oracles/hidden_profile/fitting.py` fits them, and a test repeats it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from pathlib import Path

from oracles.hidden_profile.decks import texts_in_hand
from oracles.hidden_profile.guessers import GUESSERS as BY_TEXT
from oracles.hidden_profile.guessers import (
    Handout,
    build_handout,
    count_negative_words,
    hit_probability,
    sentences_by_option,
    split_words,
)
from worlds.core.models import Strict
from worlds.hidden_profile.rules import worlds
from worlds.hidden_profile.rules.deck import KINDS, Draws
from worlds.hidden_profile.rules.scenario import Fact, Scenario

Options = tuple[str, ...]


@dataclass(frozen=True)
class Sight:
    """A seat's view of one deal; seats count from 1."""

    scenario: Scenario
    seat: int

    @cached_property
    def shared(self) -> tuple[Fact, ...]:
        """The facts that all seats have."""
        return self._of("shared")

    @cached_property
    def private(self) -> tuple[Fact, ...]:
        """The seat's own deciding facts."""
        return self._of("private")

    @cached_property
    def idle(self) -> tuple[Fact, ...]:
        """The seat's own idle notes."""
        return self._of("noise")

    @cached_property
    def leader(self) -> str | None:
        """The option that the shared facts favour."""
        return worlds.leading_option(self.scenario, [fact.id for fact in self.shared])

    def option_impressions(self, *facts: Fact) -> dict[str, int]:
        """Return the impression that these facts make of each option."""
        return worlds.option_impressions(self.scenario, [fact.id for fact in facts])

    @cached_property
    def handout(self) -> Handout:
        """The brief and all facts of the seat, as a guesser by words reads them."""
        return build_handout(self.scenario, [fact.id for fact in (*self.shared, *self.private, *self.idle)])

    def _of(self, scope: str) -> tuple[Fact, ...]:
        held = (fact for fact in self.scenario.facts if fact.scope == scope)
        return tuple(fact for fact in held if scope == "shared" or self.seat in fact.holders)


Adversary = Callable[[Sight], Options]
"""Function from a seat's view to the options among which it cannot choose."""


LESSONS = ("hidden keys", "both kinds")
"""Training data: the keys of hidden deals only, or those of both kinds of deals."""

FILE = Path(__file__).with_name("learned.json")
FEATURES = (
    "is the leader", "behind the leader", "second by shared facts", "worst by shared facts", "impression of own notes",
    "own notes for", "own notes against", "touched by own notes", "leader and touched", "leader and spoken against",
    "named by idle note", "first in the file", "last in the file", "named by shared texts", "named by own texts",
    "negative words beside it", "words about it", "length of the label",
)  # fmt: skip


class Weights(Strict):
    """A weight for each feature, by lesson and by the scenario that was left out; "" is for unseen scenarios."""

    features: tuple[str, ...]
    lessons: Mapping[str, Mapping[str, tuple[float, ...]]]


@cache
def read_weights() -> Weights:
    """Return the committed weights."""
    return Weights.model_validate_json(FILE.read_bytes())


def guess_by_weights(seen: Sight, lesson: str) -> Options:
    """Return the options with the best score, by weights fitted without this scenario."""
    by_scenario = read_weights().lessons[lesson]
    return best_weighted(by_scenario.get(seen.scenario.id, by_scenario[""]), option_features(seen))


def best_weighted(weighed: tuple[float, ...], shown: Mapping[str, tuple[float, ...]]) -> Options:
    """Return the options with the highest weighted sum; sums that differ by rounding are equal."""
    sums = {option: sum(w * x for w, x in zip(weighed, values, strict=True)) for option, values in shown.items()}
    best = max(sums.values())
    return tuple(option for option, total in sums.items() if total > best - 1e-9)


def option_features(seen: Sight) -> dict[str, tuple[float, ...]]:
    """Return the features of each option on this hand, in the order of FEATURES."""
    shared, own = seen.option_impressions(*seen.shared), seen.option_impressions(*seen.private)
    ranks = sorted(set(shared.values()), reverse=True)
    sentences = sentences_by_option(seen.handout)
    in_shared = sentences_by_option(Handout(seen.handout.options, tuple(fact.text for fact in seen.shared)))
    ids, made = seen.scenario.option_ids, {}
    for option in ids:
        notes = [fact for fact in seen.private if option in fact.about]
        signs = [fact.weights.get(option, 0) for fact in seen.private]
        leads, touched, against = option == seen.leader, len(notes), -sum(min(sign, 0) for sign in signs)
        made[option] = (
            leads, ranks[0] - shared[option], ranks[1:2] == [shared[option]], shared[option] == ranks[-1], own[option],
            sum(max(sign, 0) for sign in signs), against, touched, leads * touched, leads * against,
            sum(option in fact.about for fact in seen.idle), option == ids[0], option == ids[-1], len(in_shared[option]),
            len(sentences[option]) - len(in_shared[option]), sum(map(count_negative_words, sentences[option])),
            sum(len(split_words(one)) for one in sentences[option]) / 10, len(dict(seen.handout.options)[option]) / 10,
        )  # fmt: skip
    return {option: tuple(map(float, values)) for option, values in made.items()}


def guess_by_rank(seen: Sight, rank: int, *, hand: bool) -> Options:
    """Return the options at rank `rank`, from 1, by the shared facts or by the hand; the worst if there are fewer ranks."""
    score = seen.option_impressions(*seen.shared, *(seen.private if hand else ()))
    places = sorted(set(score.values()), reverse=True)
    wanted = places[min(rank, len(places)) - 1]
    return tuple(option for option, points in score.items() if points == wanted)


def guess_all_but_leader(seen: Sight) -> Options:
    """Return all options but the leader."""
    return tuple(option for option in seen.scenario.option_ids if option != seen.leader)


def guess_by_own_facts(seen: Sight, *, avoided: bool) -> Options:
    """Return the options other than the leader that the seat's own deciding facts concern, or do not concern if `avoided`."""
    touched = {option for fact in seen.private for option in fact.about}
    return _of_the_others(seen, lambda option: (option in touched) is not avoided)


def guess_by_idle_notes(seen: Sight) -> Options:
    """Return the options other than the leader that the seat's idle notes name."""
    named = {option for fact in seen.idle for option in fact.about}
    return _of_the_others(seen, lambda option: option in named)


def guess_by_mentions(seen: Sight, *, most: bool) -> Options:
    """Return the options other than the leader that the seat's notes concern most, or least."""
    counts = Counter(option for fact in (*seen.private, *seen.idle) for option in fact.about)
    others = guess_all_but_leader(seen)
    wanted = (max if most else min)(counts[option] for option in others)
    return tuple(option for option in others if counts[option] == wanted)


def guess_by_sign(seen: Sight, sign: int) -> Options:
    """Return the options for which (1) or against which (-1) the seat's own deciding facts speak most."""
    score = seen.option_impressions(*seen.private)
    best = max(sign * points for points in score.values())
    return tuple(option for option, points in score.items() if sign * points == best)


def guess_second(seen: Sight) -> Options:
    """Apply the rule that once found 72 %: neither the leader nor what my note is about, else my idle note's, else second."""
    others = guess_by_own_facts(seen, avoided=True)
    named = tuple(option for option in others if any(option in fact.about for fact in seen.idle))
    return others if len(others) == 1 else named or guess_by_rank(seen, 2, hand=False)


ADVERSARIES: Mapping[str, Adversary] = {
    **{f"rank {rank} by shared facts": partial(guess_by_rank, rank=rank, hand=False) for rank in (1, 2, 3)},
    **{f"rank {rank} by hand": partial(guess_by_rank, rank=rank, hand=True) for rank in (2, 3)},
    "worst by hand": partial(guess_by_rank, rank=99, hand=True),
    "any but the leader": guess_all_but_leader,
    "what my note is about": partial(guess_by_own_facts, avoided=False),
    "what my note is not about": partial(guess_by_own_facts, avoided=True),
    "what my idle note names": guess_by_idle_notes,
    "most mentioned to me": partial(guess_by_mentions, most=True),
    "least mentioned to me": partial(guess_by_mentions, most=False),
    "what my notes speak for": partial(guess_by_sign, sign=1),
    "what my notes speak against": partial(guess_by_sign, sign=-1),
    "note, idle note, second": guess_second,
    **{f"by text, {name}": partial(lambda seen, guess: guess(seen.handout), guess=guess) for name, guess in BY_TEXT.items()},
    **{f"learned, {lesson}": partial(guess_by_weights, lesson=lesson) for lesson in LESSONS},
}
"""Adversaries by name."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Score of a guesser over the deals of one deck, averaged over seats."""

    hidden: Fraction
    manifest: Fraction

    @property
    def informedness(self) -> Fraction:
        """Informedness, J."""
        return self.hidden + self.manifest - 1


def score_adversary(draws: Draws, adversary: Adversary) -> Guess:
    """Return the exact expected score of an adversary on a deck."""
    told: dict[tuple[str, ...], Options] = {}
    total = dict.fromkeys(KINDS, Fraction(0))
    for draw, chance in draws.chance.items():
        scenario = draws.deck.scenario(draw.versions, draw.key or "", draw.leader or "")
        for seat in scenario.seats:
            if (hand := texts_in_hand(draws.deck, draw, seat)) not in told:
                told[hand] = adversary(Sight(scenario, seat))
            total[draw.kind] += chance * hit_probability(told[hand], scenario.key) / scenario.agents
    return Guess(**total)


def _of_the_others(seen: Sight, wanted: Callable[[str], bool]) -> Options:
    """Return the options other than the leader that satisfy a condition; all of these if none does."""
    others = guess_all_but_leader(seen)
    return tuple(filter(wanted, others)) or others
