"""A guesser that learns: what do keys of other decks have in common, that one hand shows?

A linear score over what is to be seen of each option, fitted as a logistic regression of "is the key" over all hands of all
deals of the decks but the one that it is asked about. The weights are data (`learned.json`), so this needs no scikit-learn;
`tests/hidden_profile/fitting.py` fits them, and a test does it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from oracles.hidden_profile.guessers import Handout, naming, negative_words, words
from oracles.hidden_profile.sight import Options, Sight
from worlds.core.models import Strict

LESSONS = ("hidden keys", "both kinds")
"""What it was taught: the keys of hidden deals alone, or those of both kinds of deals."""

FILE = Path(__file__).with_name("learned.json")
FEATURES = (
    "is the leader", "behind the leader", "second by shared facts", "worst by shared facts", "impression of own notes",
    "own notes for", "own notes against", "touched by own notes", "leader and touched", "leader and spoken against",
    "named by idle note", "first in the file", "last in the file", "named by shared texts", "named by own texts",
    "negative words beside it", "words about it", "length of the label",
)  # fmt: skip


class Weights(Strict):
    """By lesson and by the scenario that was left out, a weight for each feature; "" is for scenarios that it never met."""

    features: tuple[str, ...]
    lessons: Mapping[str, Mapping[str, tuple[float, ...]]]


@cache
def weights() -> Weights:
    """The weights as committed."""
    return Weights.model_validate_json(FILE.read_bytes())


def learned(seen: Sight, lesson: str) -> Options:
    """The options that score best by what was learnt without this scenario."""
    by_scenario = weights().lessons[lesson]
    return best_by(by_scenario.get(seen.scenario.id, by_scenario[""]), features(seen))


def best_by(weighed: tuple[float, ...], shown: Mapping[str, tuple[float, ...]]) -> Options:
    """The options with the highest weighted sum; sums that differ by rounding are level."""
    sums = {option: sum(w * x for w, x in zip(weighed, values, strict=True)) for option, values in shown.items()}
    best = max(sums.values())
    return tuple(option for option, total in sums.items() if total > best - 1e-9)


def features(seen: Sight) -> dict[str, tuple[float, ...]]:
    """By option, what is to be seen of it on this hand, in the order of FEATURES."""
    shared, own = seen.impression(*seen.shared), seen.impression(*seen.private)
    ranks = sorted(set(shared.values()), reverse=True)
    sentences = naming(seen.handout)
    in_shared = naming(Handout(seen.handout.options, tuple(fact.text for fact in seen.shared)))
    ids, made = seen.scenario.option_ids, {}
    for option in ids:
        notes = [fact for fact in seen.private if option in fact.about]
        signs = [fact.weights.get(option, 0) for fact in seen.private]
        leads, touched, against = option == seen.leader, len(notes), -sum(min(sign, 0) for sign in signs)
        made[option] = (
            leads, ranks[0] - shared[option], ranks[1:2] == [shared[option]], shared[option] == ranks[-1], own[option],
            sum(max(sign, 0) for sign in signs), against, touched, leads * touched, leads * against,
            sum(option in fact.about for fact in seen.idle), option == ids[0], option == ids[-1], len(in_shared[option]),
            len(sentences[option]) - len(in_shared[option]), sum(map(negative_words, sentences[option])),
            sum(len(words(one)) for one in sentences[option]) / 10, len(dict(seen.handout.options)[option]) / 10,
        )  # fmt: skip
    return {option: tuple(map(float, values)) for option, values in made.items()}
