"""OpenSkill ratings of models from games that they played together, as the paper's leaderboard has them (Appendix E).

1. A game is a free-for-all over its seats; each dimension has ratings of its own, and its margin. Scores, not ranks, are handed
   to OpenSkill: coordination as it is, excess cost (as shown) and excess reflection-calibrated VPS with their sign turned.
2. A model at several seats of a game enters once a seat, and its updates are averaged: mean mu, mean sigma. A game of one model
   alone says nothing of others, and is not rated. Protocols, recordings and people are never rated.
3. Ratings depend on the order of the games: it is fixed (task, seed, attempt, run), and other orders, drawn by fixed seeds, say
   how far mu and the ranks would move.
4. MMR is the mean over the dimensions that were measured of mu - 3 sigma. That formula is ours: the paper prints none.
"""

from __future__ import annotations

import importlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

ORDERS = 200
"""Orders beside the fixed one."""


class Dimension(NamedTuple):
    """What is rated; `sign` turns what is better to the larger number."""

    name: str
    title: str
    margin: float
    sign: int


DIMENSIONS = (
    Dimension("coordination", "Coord.", 0.2, 1),
    Dimension("cost", "Excess", 10.0, -1),
    Dimension("privacy", "Excess VPS", 5.0, -1),
)


class Rating(NamedTuple):
    """What is believed of a player in one dimension."""

    mu: float
    sigma: float

    @property
    def sure(self) -> float:
        """What it is almost surely above."""
        return self.mu - 3 * self.sigma


@dataclass(frozen=True)
class Entry:
    """One seat of a game."""

    player: str
    raw: Mapping[str, float | None]
    """Its measure in each dimension, None where there is none."""


@dataclass(frozen=True)
class RatedGame:
    """One game, and where it stands in the fixed order."""

    place: tuple[str, int, int, str]
    """Task, seed, attempt, run."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Standing:
    """What came of one player."""

    player: str
    games: int
    seats: int
    ratings: Mapping[str, Rating]
    """By dimension; one that nobody measured is missing."""

    means: Mapping[str, float]
    """By dimension, over its seats."""

    mmr: float | None
    spread: Mapping[str, tuple[float, float]]
    """By dimension: mu in 95 % of the orders."""

    ranks: Mapping[int, float]
    """How often each rank by MMR occurred, as shares of the orders."""


def standings(games: Iterable[RatedGame], orders: int = ORDERS) -> list[Standing]:
    """All players by MMR, best first; raises UsageError where OpenSkill is not installed."""
    fixed = sorted((game for game in games if _is_contest(game)), key=lambda game: game.place)
    if not fixed:
        return []
    main = _all_rated(fixed)
    others = [_all_rated(_shuffled(fixed, seed)) for seed in range(orders)]
    ranked = [_ranking(one) for one in others]
    made = [_standing(player, fixed, main, others, ranked) for player in main]
    return sorted(made, key=lambda one: (-(one.mmr or 0.0), one.player))


def by_means(players: Iterable[Standing]) -> list[str]:
    """The players by what they did, without any rating: coordination, then excess cost, then excess VPS."""

    def key(one: Standing) -> tuple[float, ...]:
        return tuple(-dimension.sign * one.means.get(dimension.name, 0.0) for dimension in DIMENSIONS)

    return [one.player for one in sorted(players, key=lambda one: (key(one), one.player))]


def rated(games: Iterable[RatedGame], dimension: Dimension) -> dict[str, Rating]:
    """Every player's rating in one dimension after these games, one after the other."""
    model = _model(dimension.margin)
    new = model.rating()
    ratings: dict[str, Rating] = {}
    for game in games:
        scored = [(one.player, one.raw.get(dimension.name)) for one in game.entries]
        entries = [(player, dimension.sign * raw) for player, raw in scored if raw is not None]
        if len({player for player, _ in entries}) < 2:
            continue
        before = [ratings.get(player, Rating(new.mu, new.sigma)) for player, _ in entries]
        teams = [[model.rating(*rating)] for rating in before]
        after = model.rate(teams, scores=[float(score) for _, score in entries])
        seats: defaultdict[str, list[Rating]] = defaultdict(list)
        for (player, _), (made,) in zip(entries, after, strict=True):
            seats[player].append(Rating(made.mu, made.sigma))
        for player, mine in seats.items():
            ratings[player] = Rating(fmean(one.mu for one in mine), fmean(one.sigma for one in mine))
    return ratings


def mmr(ratings: Iterable[Rating]) -> float | None:
    """One number for a player: the mean over its dimensions of mu - 3 sigma."""
    sure = [rating.sure for rating in ratings]
    return fmean(sure) if sure else None


def _model(margin: float) -> Any:
    """OpenSkill's Plackett-Luce model, its default."""
    return importlib.import_module("openskill.models").PlackettLuce(margin=margin)


Rated = Mapping[str, Mapping[str, Rating]]
"""Player -> dimension -> rating."""


def _all_rated(games: Sequence[RatedGame]) -> Rated:
    made: dict[str, dict[str, Rating]] = {}
    for dimension in DIMENSIONS:
        for player, rating in rated(games, dimension).items():
            made.setdefault(player, {})[dimension.name] = rating
    return made


def _shuffled(games: Sequence[RatedGame], seed: int) -> list[RatedGame]:
    drawn = list(games)
    random.Random(seed).shuffle(drawn)  # noqa: S311 - an order, not a secret
    return drawn


def _is_contest(game: RatedGame) -> bool:
    return len({one.player for one in game.entries}) > 1


def _ranking(one: Rated) -> dict[str, int]:
    """Each player's rank by MMR, from 1; equals share the better one."""
    values = {player: mmr(mine.values()) or 0.0 for player, mine in one.items()}
    return {player: 1 + sum(other > value for other in values.values()) for player, value in values.items()}


def _standing(
    player: str, games: Sequence[RatedGame], main: Rated, others: Sequence[Rated], ranked: Sequence[Mapping[str, int]]
) -> Standing:
    seats = [one for game in games for one in game.entries if one.player == player]
    known = {name: [raw for one in seats if (raw := one.raw.get(name)) is not None] for name, *_ in DIMENSIONS}
    counted = Counter(ranks[player] for ranks in ranked)
    return Standing(
        player=player,
        games=sum(any(one.player == player for one in game.entries) for game in games),
        seats=len(seats),
        ratings=main[player],
        means={name: fmean(values) for name, values in known.items() if values},
        mmr=mmr(main[player].values()),
        spread={name: _middle([one[player][name].mu for one in others]) for name in main[player]} if others else {},
        ranks={rank: counted[rank] / len(ranked) for rank in sorted(counted)},
    )


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95 % of some values: from the 2.5th to the 97.5th percentile, of those that there are."""
    ordered = sorted(values)
    cut = int(0.025 * len(ordered))
    return ordered[cut], ordered[-1 - cut]
