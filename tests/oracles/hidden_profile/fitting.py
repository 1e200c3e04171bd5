"""Fits the guesser that learns: for each deck a logistic regression over all the others. `make learned` writes its weights.

A row is an option on a hand: what is to be seen of it, whether it is the key, and how likely the deal is. Equal rows are put
together, so that a fit takes part of a second.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from oracles.hidden_profile.adversaries import FEATURES, FILE, LESSONS, Sight, option_features
from oracles.hidden_profile.decks import texts_in_hand
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import KINDS, Deck, Draws, Kind, read_task

TAUGHT: Mapping[str, tuple[Kind, ...]] = dict(zip(LESSONS, (("hidden",), KINDS), strict=True))
STRENGTH = 1.0
"""Inverse of the L2 penalty, with a weight of 1 for each kind of deals of each deck."""

Rows = dict[tuple[tuple[float, ...], bool], float]
"""(What is seen, whether it is the key) -> how much weight such rows have."""


def rows(deck: Deck, kinds: Iterable[Kind]) -> Rows:
    """The rows of one deck."""
    draws, known = Draws(deck), defaultdict[tuple[tuple[float, ...], bool], float](float)
    read: dict[tuple[str, ...], dict[str, tuple[float, ...]]] = {}
    for draw in (draw for kind in kinds for draw in draws.of_kind(kind)):
        scenario = deck.scenario(draw.versions, draw.key or "", draw.leader or "")
        for seat in scenario.seats:
            if (hand := texts_in_hand(deck, draw, seat)) not in read:
                read[hand] = option_features(Sight(scenario, seat))
            for option, seen in read[hand].items():
                known[seen, option == scenario.key] += float(draws.chance[draw]) / scenario.agents
    return dict(known)


def fitted(those: Sequence[Rows]) -> tuple[float, ...]:
    """The weight of each feature."""
    entries = [(seen, key, weight) for known in those for (seen, key), weight in known.items()]
    seen, key, weight = (np.array(column, dtype=float) for column in zip(*entries, strict=True))
    fit = LogisticRegression(C=STRENGTH, max_iter=5000, tol=1e-8).fit(seen, key, sample_weight=weight)
    return tuple(round(float(one), 4) for one in fit.coef_[0])


def all_fitted(decks: Sequence[Deck]) -> dict[str, dict[str, tuple[float, ...]]]:
    """By lesson and by the deck that is left out; "" leaves none out."""
    made: dict[str, dict[str, tuple[float, ...]]] = {}
    for lesson, kinds in TAUGHT.items():
        known = {deck.id: rows(deck, kinds) for deck in decks}
        left_out = ("", *known)
        made[lesson] = {out: fitted([those for name, those in known.items() if name != out]) for out in left_out}
    return made


def decks() -> list[Deck]:
    """The decks of the registry."""
    read = (read_task(folder / SCENARIO) for folder in sorted(Path("tasks/hidden-profile").glob("*/environment/api")))
    return [one for one in read if isinstance(one, Deck)]


def document() -> str:
    """The weights as they are written, one scenario a line."""
    parts = []
    for lesson, those in all_fitted(decks()).items():
        lines = ",\n".join(f"  {json.dumps(out)}: {json.dumps(one)}" for out, one in those.items())
        parts.append(f" {json.dumps(lesson)}: {{\n{lines}\n }}")
    return f'{{"features": {json.dumps(FEATURES)}, "lessons": {{\n' + ",\n".join(parts) + "\n}}\n"


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(document())
    else:
        FILE.write_text(document(), encoding="utf-8")
