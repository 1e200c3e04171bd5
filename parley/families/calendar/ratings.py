"""OpenSkill ratings of models, the costs that they are based on, and their table (docs/calendar.md).

1. A game is a free-for-all over its seats; each dimension has its own ratings and its own margin. OpenSkill gets scores, not
   ranks. A model at several seats of a game enters once per seat, and its updates are averaged.
2. Ratings depend on the order of the games: it is fixed (task, seed, attempt, run), and other orders, drawn by fixed seeds,
   show the variation of mu and the ranks. Games under other rules (options, texts, edition) have separate ratings.
3. Excess cost is the shown cost above the shown cost of the reference schedule, which is optimal on the scored scale, with the
   tie-break of Appendix E. One dynamic program per scenario covers every subset of its meetings.
4. Protocols, recordings and people are never rated: they are in a block of their own.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from harness.frames import grouped
from harness.limits import RECORD_BYTES
from harness.records import Result, SeatResult
from harness.registry import Task
from oracles.calendar.problem import build_problem
from oracles.calendar.programme import BEST, solve
from parley.families.calendar.seat_rows import name_of
from parley.libraries import report_library
from parley.places import read_recorded
from parley.reports.evidence import Evidence, Group
from parley.reports.table import Column, Row, Table, table_of, titled
from worlds.calendar.rules.scenario import parse_scenario
from worlds.core.chance import PUBLISHED_KEY, key_digest
from worlds.core.errors import LogError
from worlds.core.events import Noted, canonical_json, read_log
from worlds.core.loading import SCENARIO

ORDERS = 200
"""Number of orders besides the fixed one."""


class Dimension(NamedTuple):
    """A rated measure; `sign` makes larger numbers better."""

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
    """Rating of a player in one dimension."""

    mu: float
    sigma: float

    @property
    def sure(self) -> float:
        """Conservative estimate: mu - 3 sigma."""
        return self.mu - 3 * self.sigma


@dataclass(frozen=True)
class Entry:
    """A seat of a game."""

    player: str
    raw: Mapping[str, float | None]
    """Measure of the seat in each dimension; None if there is none."""


@dataclass(frozen=True)
class RatedGame:
    """A game, and its place in the fixed order."""

    place: tuple[str, int, int, str]
    """Task, seed, attempt, run."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Standing:
    """Result of one player."""

    player: str
    games: int
    seats: int
    ratings: Mapping[str, Rating]
    """Ratings by dimension; unmeasured dimensions are missing."""

    means: Mapping[str, float]
    """Means over its seats, by dimension."""

    mmr: float | None
    spread: Mapping[str, tuple[float, float]]
    """Middle 95 % of mu over the orders, by dimension."""

    ranks: Mapping[int, float]
    """Share of the orders in which the player has each rank by MMR."""


def standings(games: Iterable[RatedGame], orders: int = ORDERS) -> list[Standing]:
    """Return all players by MMR, best first. Raises UsageError if OpenSkill is not installed."""
    contests = (game for game in games if len({one.player for one in game.entries}) > 1)
    fixed = sorted(contests, key=lambda game: game.place)
    if not fixed:
        return []
    main = _all_rated(fixed)
    others = [_all_rated(_shuffled(fixed, seed)) for seed in range(orders)]
    ranked = [_ranking(one) for one in others]
    made = [_standing(player, fixed, main, others, ranked) for player in main]
    return sorted(made, key=lambda one: (-(one.mmr or 0.0), one.player))


def by_means(players: Iterable[Standing]) -> list[str]:
    """Return the players by plain means: coordination, then excess cost, then excess VPS."""

    def key(one: Standing) -> tuple[float, ...]:
        return tuple(-dimension.sign * one.means.get(dimension.name, 0.0) for dimension in DIMENSIONS)

    return [one.player for one in sorted(players, key=lambda one: (key(one), one.player))]


def rated(games: Iterable[RatedGame], dimension: Dimension) -> dict[str, Rating]:
    """Return every player's rating in one dimension after these games, in order."""
    model = report_library("openskill.models").PlackettLuce(margin=dimension.margin)
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
        seats = grouped(zip(entries, after, strict=True), lambda seat: seat[0][0])
        for player, mine in seats.items():
            ratings[player] = Rating(fmean(one.mu for _, (one,) in mine), fmean(one.sigma for _, (one,) in mine))
    return ratings


def mmr(ratings: Iterable[Rating]) -> float | None:
    """Return the mean over a player's dimensions of mu - 3 sigma; None without ratings."""
    sure = [rating.sure for rating in ratings]
    return fmean(sure) if sure else None


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


def _ranking(one: Rated) -> dict[str, int]:
    """Return each player's rank by MMR, from 1; ties share the better rank."""
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
    """Return the middle 95 % of some values: from the 2.5th to the 97.5th percentile, without interpolation."""
    ordered = sorted(values)
    cut = int(0.025 * len(ordered))
    return ordered[cut], ordered[-1 - cut]


def raw_excess(result: Result, task: Task | None, digest: str) -> list[float | None]:
    """Return each seat's cost above the optimum of the scheduled meetings, on the shown scale; None without a scenario.

    `task` is the registry's task. It is used if its digest is that of the played task (`digest`); otherwise the scenario is
    read from the episode's log.
    """
    seats = result.metrics.get("seats", [])
    scenario = _scenario(result, task if task is not None and task.digest == digest else None)
    if scenario is None:
        return [None] * len(seats)
    done = sorted(row["meeting"] for row in result.metrics["rounds"] if row["coordinated"])
    shares = shown_shares(scenario).get(tuple(done))
    if shares is None:
        return [None] * len(seats)
    return [float(max(0, seat["paid_shown"] - share)) for seat, share in zip(seats, shares, strict=True)]


@lru_cache(maxsize=256)
def shown_shares(scenario: bytes) -> Mapping[tuple[int, ...], tuple[int, ...]]:
    """Return each seat's shown cost in the optimum of each subset of meetings that can be scheduled; empty if too large."""
    read = parse_scenario(scenario)
    solution = solve(build_problem(read))
    if solution is None:
        return {}
    problem, shown = solution.problem, build_problem(read, "shown")
    chosen = shown.costs[np.arange(problem.count), :, solution.vectors[BEST]]
    paid = np.where(problem.bits[:, :, None], chosen, 0).sum(axis=1).tolist()
    ids = problem.ids[: problem.meetings]
    return {
        tuple(sorted(number for place, number in enumerate(ids) if subset >> place & 1)): tuple(shares)
        for subset, shares in enumerate(paid)
        if solution.possible[subset]
    }


def _scenario(result: Result, task: Task | None) -> bytes | None:
    """Return the scenario that was played, from its task's folder or the episode's log."""
    try:
        if task is not None:
            return (task.world_folder / SCENARIO).read_bytes()
        events = read_log(read_recorded(Path(result.path), "events.jsonl", RECORD_BYTES))
    except (OSError, LogError):
        return None
    start = next((event for event in events if isinstance(event, Noted) and event.what == "game_start"), None)
    return canonical_json(start.data["scenario"]) if start else None


_EXACT = {"mu": "mu", "sigma": "sigma", "mean": "mean", "low": "mu, low", "high": "mu, high"}
NOTES = (
    "mu ± sigma (mean of the measure itself) least..greatest mu in 95 % of 200 other orders of the games",
    "MMR = mean over the dimensions of mu - 3 sigma, a formula of ours",
    "ratings depend on the order of the games: read the order by means first (docs/calendar.md)",
    "excess is as shown (1, 10, 100), excess VPS is reflection-calibrated; -: not measured",
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper's leaderboard is a web page
    """Return a table of ratings and one of protocols; none if no two models played in a game together."""
    rows = [row for setup, games in sorted(_pools(evidence).items()) for row in _rows(setup, games)]
    note = "never rated: by coordination, then excess, then protocol-semantic VPS"
    apart = _protocols(evidence) if rows else []
    return [
        *table_of("ratings", "Ratings, calendar", _columns(), rows, NOTES),
        *table_of("ratings-protocols", "Protocols beside the ratings, calendar", _PROTOCOLS, apart, (note,)),
    ]


def _columns() -> tuple[Column, ...]:
    shown = [
        *titled(player="Model", setup="Set-up", games="Games", seats="Seats", by_means="By means", by_mmr="By MMR"),
        Column("mmr", "MMR", "rate"),
        *(Column(name, title) for name, title, *_ in DIMENSIONS),
        Column("ranks", "Ranks by MMR over orders"),
    ]
    exact = [
        Column(f"{name}_{key}", f"{title}, {told}", "rate", shown=False)
        for name, title, *_ in DIMENSIONS
        for key, told in _EXACT.items()
    ]
    return (*shown, *exact)


_PROTOCOLS = (
    *titled(player="Protocol", setup="Set-up", seats="Seats"),
    Column("coordination", "Coord. %", "percent"),
    *titled("rate", excess="Excess", vps="Excess VPS"),
)


def _rows(setup: str, games: Sequence[RatedGame]) -> Iterator[Row]:
    ranked = standings(games)
    plain = {player: rank for rank, player in enumerate(by_means(ranked), start=1)}
    for rank, one in enumerate(ranked, start=1):
        ranks = ", ".join(f"{place}: {100 * share:.0f} %" for place, share in one.ranks.items())
        cells = (cell for dimension in DIMENSIONS for cell in _cells(one, dimension).items())
        yield {
            "player": one.player, "setup": setup, "games": one.games, "seats": one.seats, "by_means": plain[one.player],
            "by_mmr": rank, "mmr": one.mmr, "ranks": ranks, **dict(cells),
        }  # fmt: skip


def _cells(one: Standing, dimension: Dimension) -> dict[str, Any]:
    """Return the cells of one player in one dimension: as text, and exactly."""
    name = dimension.name
    if name not in one.ratings:
        return {}
    rating, mean, (low, high) = one.ratings[name], one.means[name], one.spread[name]
    shown = f"{100 * mean:.1f} %" if name == "coordination" else f"{mean:.2f}"
    return {
        name: f"{rating.mu:.2f} ± {rating.sigma:.2f} ({shown}) {low:.1f}..{high:.1f}",
        f"{name}_mu": rating.mu, f"{name}_sigma": rating.sigma, f"{name}_mean": mean, f"{name}_low": low, f"{name}_high": high,
    }  # fmt: skip


def _pools(evidence: Evidence) -> dict[str, list[RatedGame]]:
    """Return the games under each set of rules, with the seats that models played."""
    pools: defaultdict[str, list[RatedGame]] = defaultdict(list)
    for group in evidence.played:
        for result in group.graded:
            models = {seat.seat: seat for seat in result.seats if seat.kind == "model"}
            if len({name_of(seat) for seat in models.values()}) > 1 and result.metrics.get("seats"):
                place = result.task_id, result.seed, result.attempt, result.run
                entries = tuple(_entries(evidence, group, result, models))
                pools[_rules(evidence, result)].append(RatedGame(place, entries))
    return pools


def _entries(evidence: Evidence, group: Group, result: Result, models: Mapping[int, SeatResult]) -> Iterator[Entry]:
    task, digest = evidence.registry.get(result.task_id), group.planned.get(result.task_id, "")
    excess = raw_excess(result, task, digest)
    for row, cost in zip(result.metrics["seats"], excess, strict=True):
        if (held := models.get(row["seat"])) is not None:
            told = row.get("excess_reflection_vps")
            yield Entry(name_of(held), {"coordination": row["coordination"], "cost": cost, "privacy": told})


def _rules(evidence: Evidence, result: Result) -> str:
    """Return the conditions of a game that are not the default, as text."""
    task = evidence.registry.get(result.task_id)
    declared = task.parley.declared_options if task is not None and task.parley is not None else {}
    told = [
        f"{name}={value}"
        for name, value in sorted(result.options.items())
        if name not in declared or declared[name].default != value
    ]
    told += [f"templates {result.templates[:8]}"] if result.templates else []
    told += [f"edition {result.key_digest[:8]}"] if result.key_digest != key_digest(PUBLISHED_KEY) else []
    return ", ".join(told)


def _protocols(evidence: Evidence) -> list[Row]:
    """Return the results of every seat without a model, by its player."""
    seats: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for result in (result for group in evidence.played for result in group.graded):
        held = {seat.seat: seat for seat in result.seats}
        for row in result.metrics.get("seats", []):
            who = held.get(row["seat"])
            if who is None or who.kind != "model":
                seats[who.name if who else result.agent, _rules(evidence, result)].append(row)
    rows = [
        {"player": name, "setup": setup, "seats": len(mine), "coordination": _mean(mine, "coordination"),
         "excess": _mean(mine, "excess"), "vps": _mean(mine, "excess_vps")}
        for (name, setup), mine in seats.items()
    ]  # fmt: skip
    return sorted(rows, key=_by_outcome)


def _mean(seats: Sequence[Mapping[str, Any]], name: str) -> float | None:
    known = [row[name] for row in seats if row.get(name) is not None]
    return fmean(known) if known else None


def _by_outcome(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a sort key: coordination descending, excess and VPS ascending, unknown values last."""
    coordination, excess, vps = row["coordination"], row["excess"], row["vps"]
    unknown = float("inf")
    return (
        unknown if coordination is None else -coordination, unknown if excess is None else excess,
        unknown if vps is None else vps, row["player"], row["setup"],
    )  # fmt: skip
