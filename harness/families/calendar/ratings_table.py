"""`harness report --table ratings`: models by their ratings, with the order of their plain means beside, and protocols apart.

Games under other rules (options, texts, edition) make ratings of their own. Protocols have no rating: they stand in a block of
their own, by coordination, then excess, then protocol-semantic VPS, which is no measure of a model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from harness.families.calendar.held import name_of
from harness.families.calendar.ratings import DIMENSIONS, Dimension, Entry, RatedGame, Standing, by_means, standings
from harness.families.calendar.raw_excess import raw_excess
from harness.records import Result, SeatResult
from harness.report.evidence import Evidence, Group
from harness.report.table import Column, Row, Table
from worlds.core.chance import PUBLISHED_KEY, key_digest

_EXACT = {"mu": "mu", "sigma": "sigma", "mean": "mean", "low": "mu, low", "high": "mu, high"}
NOTES = (
    "mu ± sigma (mean of the measure itself) least..greatest mu in 95 % of 200 other orders of the games",
    "MMR = mean over the dimensions of mu - 3 sigma, a formula of ours",
    "ratings depend on the order of the games: read the order by means first (docs/calendar.md)",
    "excess is as shown (1, 10, 100), excess VPS is reflection-calibrated; - where nobody measured it",
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper's leaderboard is a web page
    """The ratings, and the protocols beside them; none where no two models met."""
    pools = _pools(evidence)
    rows = [row for setup, games in sorted(pools.items()) for row in _rows(setup, games)]
    if not rows:
        return []
    apart = _protocols(evidence)
    note = ("never rated: by coordination, then excess, then protocol-semantic VPS",)
    others = [Table("ratings-protocols", "Protocols beside the ratings, calendar", _PROTOCOLS, apart, note)] if apart else []
    return [Table("ratings", "Ratings, calendar", _columns(), tuple(rows), NOTES), *others]


def _columns() -> tuple[Column, ...]:
    shown = [
        Column("player", "Model"),
        Column("setup", "Set-up"),
        Column("games", "Games"),
        Column("seats", "Seats"),
        Column("by_means", "By means"),
        Column("by_mmr", "By MMR"),
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
    Column("player", "Protocol"),
    Column("setup", "Set-up"),
    Column("seats", "Seats"),
    Column("coordination", "Coord. %", "percent"),
    Column("excess", "Excess", "rate"),
    Column("vps", "Excess VPS", "rate"),
)


def _rows(setup: str, games: Sequence[RatedGame]) -> Iterator[Row]:
    ranked = standings(games)
    plain = {player: rank for rank, player in enumerate(by_means(ranked), start=1)}
    for rank, one in enumerate(ranked, start=1):
        ranks = ", ".join(f"{place}: {100 * share:.0f} %" for place, share in one.ranks.items())
        told: dict[str, Any] = {
            "player": one.player, "setup": setup, "games": one.games, "seats": one.seats, "by_means": plain[one.player],
            "by_mmr": rank, "mmr": one.mmr, "ranks": ranks,
        }  # fmt: skip
        for dimension in DIMENSIONS:
            told |= _cells(one, dimension)
        yield told


def _cells(one: Standing, dimension: Dimension) -> dict[str, Any]:
    """What is said of one player in one dimension: in words, and exactly."""
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
    """The games under each set of rules, with the seats that models held."""
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
    """The conditions of a game that are not the default, as a row says them."""
    task = evidence.registry.get(result.task_id)
    declared = task.parley.declared if task is not None and task.parley is not None else {}
    told = [
        f"{name}={value}"
        for name, value in sorted(result.options.items())
        if name not in declared or declared[name].default != value
    ]
    told += [f"templates {result.templates[:8]}"] if result.templates else []
    told += [f"edition {result.key_digest[:8]}"] if result.key_digest != key_digest(PUBLISHED_KEY) else []
    return ", ".join(told)


def _protocols(evidence: Evidence) -> tuple[Row, ...]:
    """What every seat that no model held came to, by who held it."""
    seats: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for group in evidence.played:
        for result in group.graded:
            held = {seat.seat: seat for seat in result.seats}
            for row in result.metrics.get("seats", []):
                who = held.get(row["seat"])
                if who is None or who.kind != "model":
                    seats[who.name if who else result.agent, _rules(evidence, result)].append(row)
    rows = [_protocol(name, setup, mine) for (name, setup), mine in seats.items()]
    return tuple(sorted(rows, key=_by_outcome))


def _protocol(name: str, setup: str, seats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    measured = {"coordination": "coordination", "excess": "excess", "vps": "excess_vps"}
    known = {column: [row[key] for row in seats if row.get(key) is not None] for column, key in measured.items()}
    means = {column: fmean(values) if values else None for column, values in known.items()}
    return {"player": name, "setup": setup, "seats": len(seats), **means}


def _by_outcome(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Coordination from the best down, excess and VPS from the least up; what is not known stands last."""
    coordination, excess, vps = row["coordination"], row["excess"], row["vps"]
    unknown = float("inf")
    return (
        unknown if coordination is None else -coordination, unknown if excess is None else excess,
        unknown if vps is None else vps, row["player"], row["setup"],
    )  # fmt: skip
