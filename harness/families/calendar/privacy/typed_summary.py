"""What `harness audit vps` prints: losses by player and estimate, where they were told, and what the prior does to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from harness.families.calendar.audits.counts import named
from harness.families.calendar.audits.games import AuditedGame, ReadGames, Speaker
from harness.families.calendar.privacy.priors import PRIORS, Means, order_notes, prior_rows, typed_speakers
from harness.report.statistics import positive_mean_interval
from harness.report.table import Column, Row, Table

ESTIMATES = {
    "vps": "vps_loss_total",
    "excess_vps": "excess_vps_loss_total",
    "cumulative": "cumulative_vps_loss_total",
    "exact": "exact_vps_loss_total",
    "exact_cumulative": "exact_cumulative_vps_loss_total",
}
"""Column of the table of players -> column of `game_target_summary`."""

SPLITS = {"source": "source", "channel": "channel", "phase": "phase"}
"""What losses are split by, and the column of `belief_evidence` that says it."""

_PLAYER = (Column("player", "Player"), Column("variant", "Variant"), Column("options", "Options"), Column("others", "With"))
_PLAYERS = (
    *_PLAYER,
    Column("games", "Games"),
    Column("seats", "Seats"),
    Column("prose", "Prose"),
    Column("vps", "VPS", "rate"),
    Column("interval", "95 %", "span"),
    Column("excess_vps", "Excess", "rate"),
    Column("cumulative", "Cumulative", "rate"),
    Column("exact", "Exact", "rate", kept=True),
    Column("exact_interval", "95 %", "span"),
    Column("exact_cumulative", "Exact, cumulative", "rate", kept=True),
)
_SPLIT = (
    *_PLAYER,
    Column("split", "By"),
    Column("name", "Told by"),
    Column("loss", "VPS, sum", "rate"),
    Column("share", "Share %", "percent"),
)
_PRIORS = (
    Column("measure", "Measure"),
    *_PLAYER,
    *(column for prior in PRIORS for column in (
        Column(f"value_{prior:g}", f"p = {prior:g}", "rate"), Column(f"rank_{prior:g}", "Rank"),
    )),
)  # fmt: skip

_MEANS = "means over seats of slots told in a game; interval: 95 %, t of the log mean clustered by task, from five tasks on"
_PROSE = "what prose told is not measured here: who wrote any has no loss"
_EXACT = "exact: change of each slot's chance of being taken, given all that was told; under the task's own rates"


def summary_tables(read: ReadGames, made: Mapping[str, Sequence[Row]], means: Means) -> list[Table]:
    """Every table that has something to say; `made` are those of `typed_tables`, `means` those under each prior."""
    games = read.games
    left = tuple(
        f"left out: {count} {why}"
        for count, why in ((read.ungraded, "ungraded episodes"), (read.unsound, "episodes without a game that can be followed"))
        if count
    )
    players = Table("players", "VPS of typed messages", _PLAYERS, tuple(_players(games, made)), (_MEANS, _PROSE, _EXACT, *left))
    split = Table("sources", "Where VPS was told", _SPLIT, tuple(_split(games, made)))
    rows, notes = tuple(_by_prior(games, means)), tuple(order_notes(games, means))
    priors = Table("priors", "VPS by prior (Appendix F.4)", _PRIORS, rows, notes)
    return [table for table in (players, split, priors) if table.rows]


def _players(games: Sequence[AuditedGame], made: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    task_of = {game.name: game.task for game in games}
    typed = set(typed_speakers(games))
    mine: defaultdict[Speaker, list[Row]] = defaultdict(list)
    for row in made["game_target_summary"]:
        mine[_speaker(row)].append(row)
    for speaker, rows in sorted(mine.items()):
        by_task: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_task[task_of[str(row["trace_path"])]].append(row)
        told = {name: _known(rows, column) for name, column in ESTIMATES.items()} if speaker in typed else {}
        intervals = {
            name: positive_mean_interval([_known(some, ESTIMATES[estimate]) for some in by_task.values()])
            for name, estimate in (("interval", "vps"), ("exact_interval", "exact"))
            if speaker in typed
        }
        yield {
            **named(speaker, games),
            "games": len({row["trace_path"] for row in rows}),
            "seats": len(rows),
            "prose": sum(_known(rows, "prose_messages")),
            **{name: fmean(values) if values else None for name, values in told.items()},
            **intervals,
        }


def _split(games: Sequence[AuditedGame], made: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """What each speaker told, by source, by channel and by phase; each way the parts sum to its whole loss."""
    speakers = {game.name: game.speakers for game in games}
    parts: defaultdict[tuple[Speaker, str, str], float] = defaultdict(float)
    for row in made["belief_evidence"]:
        speaker = speakers[str(row["trace_path"])][_whole(row["target_agent"])]
        before, after, prior = (_number(row[name]) for name in ("belief_before", "belief_after", "prior"))
        for split, column in SPLITS.items():
            parts[speaker, split, str(row[column])] += abs(after - prior) - abs(before - prior)
    for (speaker, split, name), loss in sorted(
        parts.items(), key=lambda part: (part[0][0], [*SPLITS].index(part[0][1]), part[0][2])
    ):
        whole = sum(value for (other, by, _), value in parts.items() if (other, by) == (speaker, split))
        yield {**named(speaker, games), "split": split, "name": name, "loss": loss, "share": loss / whole if whole else None}


def _by_prior(games: Sequence[AuditedGame], means: Means) -> Iterator[Row]:
    rows: defaultdict[tuple[object, ...], dict[str, Any]] = defaultdict(dict)
    for row in prior_rows(games, means):
        same = {name: row[name] for name in ("measure", "player", "variant", "options", "others")}
        rows[tuple(same.values())] |= {**same, **{f"{name}_{row['prior']:g}": row[name] for name in ("value", "rank")}}
    yield from rows.values()


def _speaker(row: Row) -> Speaker:
    return Speaker(*(str(row[name]) for name in Speaker._fields))


def _known(rows: Sequence[Row], column: str) -> list[float]:
    return [_number(row[column]) for row in rows if row[column] is not None]


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return value


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
