"""Privacy loss by typed messages: rows, summary tables, and the effect of the prior belief (paper, Appendix F.4 and F.5).

The rows are those of the validator (`validators.calendar.evidence`). The paper's columns come first, by its names, then ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from harness.frames import grouped
from parley.families.calendar.audits.games import AuditedGame, ReadGames, Speaker
from parley.families.calendar.audits.tables import SPEAKER, everybody, mean, named, share
from parley.reports.table import Column, Row, Table, table_of, titled
from parley.statistics import positive_mean_interval
from validators.calendar.evidence import (
    PHASE,
    PRIOR,
    ExactPrivacy,
    Privacy,
    is_typed,
    measure_exact_privacy,
    measure_privacy,
    privacy_tables,
)

IDS = ("trace_path", "game_id")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "belief_evidence": (
        *IDS, "event_index", "round", "target_agent", "observer_agent", "slot", "source", "evidence", "strength",
        "belief_before", "belief_after", "channel", "phase", "prior",
    ),
    "pair_round_vps": (
        *IDS, "round", "target_agent", "observer_agent", "target_is_participant", "observer_is_participant", "num_agents",
        "num_slots", "observations", "prior_distance_to_ideal", "posterior_distance_to_ideal", "vps_loss", "vps_loss_per_slot",
        "prior",
    ),
    "game_summary": (
        *IDS, "vps_loss_total", "vps_loss_mean", "participant_pair_vps_loss_total", "participant_pair_vps_loss_mean",
        "observation_count", "prior",
    ),
    "game_target_summary": (
        *IDS, "target_agent", "vps_loss_total", "excess_vps_loss_total", "participant_pair_vps_loss_total",
        "participant_pair_excess_vps_loss_total", "floor", "prior", *Speaker._fields, "prose_messages",
        "cumulative_vps_loss_total", "exact_vps_loss_total", "exact_cumulative_vps_loss_total",
    ),
    "exact_vps": (
        *IDS, "round", "target_agent", "observer_agent", "exact_vps_loss", "exact_cumulative_vps_loss", "prior_taken",
        "prior_fixed",
    ),
}  # fmt: skip
"""For each table, its columns."""

PRIORS = (0.3, 0.4, 0.5, 0.6, 0.7)
MEASURES: Mapping[str, Callable[[Privacy], Sequence[float]]] = {
    "vps": lambda lost: lost.by_target,
    "excess_vps": lambda lost: lost.excess,
}
"""For each measure, a function that returns its value for each seat of a game: slots told, and slots told above the floor."""

PRIOR_FIELDS = ("measure", *Speaker._fields, "prior", "value", "rank")

Means = Mapping[str, Mapping[float, Mapping[Speaker, float]]]
"""Measure -> prior -> mean of each speaker over its seats."""


Rows = Mapping[str, Sequence[dict[str, Any]]]
"""The rows of each table, by its name."""


def typed_tables(games: Sequence[AuditedGame], prior: float = PRIOR) -> Rows:
    """Return every table over all games; `prior` is that of the paper's estimate, in 0..1."""
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in FIELDS}
    for game in games:
        exact, lasting = measure_exact_privacy(game.replay), measure_privacy(game.replay, prior=prior, cumulative=True)
        known = privacy_tables(game.replay, prior=prior)
        for row in known["belief_evidence"]:
            row |= {"phase": PHASE, "prior": prior}
        for row in known["game_summary"]:
            row["prior"] = prior
        for row in known["game_target_summary"]:
            target = row["target_agent"]
            loss = exact.by_target[target] if exact else None
            row |= {
                "prior": prior,
                **game.speakers[target]._asdict(),
                "prose_messages": prose_of(game, target),
                "cumulative_vps_loss_total": lasting.by_target[target],
                "exact_vps_loss_total": loss.fresh if loss else None,
                "exact_cumulative_vps_loss_total": loss.lasting if loss else None,
            }
        known["exact_vps"] = list(_exact_rows(exact)) if exact else []
        for name, rows in known.items():
            made[name] += [{"trace_path": game.name, "game_id": game.key, **row} for row in rows]
    return made


def prose_of(game: AuditedGame, seat: int) -> int:
    """Return the number of a seat's messages that are not typed; their losses are not measured."""
    return sum(one.sender == seat and not is_typed(one.content) for one in game.replay.messages)


def _exact_rows(exact: ExactPrivacy) -> Iterator[dict[str, Any]]:
    for (number, target, observer), loss in exact.pairs.items():
        yield {
            "round": number, "target_agent": target, "observer_agent": observer, "exact_vps_loss": loss.fresh,
            "exact_cumulative_vps_loss": loss.lasting, "prior_taken": exact.prior.taken, "prior_fixed": exact.prior.fixed,
        }  # fmt: skip


ESTIMATES = {
    "vps": "vps_loss_total",
    "excess_vps": "excess_vps_loss_total",
    "cumulative": "cumulative_vps_loss_total",
    "exact": "exact_vps_loss_total",
    "exact_cumulative": "exact_cumulative_vps_loss_total",
}
"""For each column of the table of players, the column of `game_target_summary`."""

SPLITS = ("source", "channel", "phase")
"""Ways to split losses: columns of `belief_evidence`."""

_PLAYERS = (
    *SPEAKER,
    *titled(games="Games", seats="Seats", prose="Prose"),
    Column("vps", "VPS", "rate"),
    Column("interval", "95 %", "span"),
    *titled("rate", excess_vps="Excess", cumulative="Cumulative"),
    Column("exact", "Exact", "rate", kept=True),
    Column("exact_interval", "95 %", "span"),
    Column("exact_cumulative", "Exact, cumulative", "rate", kept=True),
)
_SPLIT = (
    *SPEAKER,
    *titled(split="By", name="Told by"),
    Column("loss", "VPS, sum", "rate"),
    Column("share", "Share %", "percent"),
)
_PRIORS = (
    Column("measure", "Measure"),
    *SPEAKER,
    *(
        column
        for prior in PRIORS
        for column in (Column(f"value_{prior:g}", f"p = {prior:g}", "rate"), Column(f"rank_{prior:g}", "Rank"))
    ),
)

_MEANS = "means over seats of slots told in a game; interval: 95 %, t of the log mean clustered by task, from five tasks on"
_PROSE = "disclosures in prose are not measured here, so players who wrote prose are left out"
_EXACT = "exact: change of each slot's chance of being taken, given all that was told; under the task's own rates"


def summary_tables(read: ReadGames, made: Rows, means: Means) -> list[Table]:
    """Return every table that is not empty, from the results of `typed_tables` and the means under each prior."""
    games = read.games
    left = tuple(
        f"left out: {count} {why}"
        for count, why in ((read.ungraded, "ungraded episodes"), (read.unsound, "episodes without a game that can be replayed"))
        if count
    )
    notes = (_MEANS, _PROSE, _EXACT, *left)
    return [
        *table_of("players", "VPS of typed messages", _PLAYERS, _players(games, made), notes),
        *table_of("sources", "VPS by source", _SPLIT, _split(games, made)),
        *table_of("priors", "VPS by prior (Appendix F.4)", _PRIORS, _by_prior(games, means), order_notes(games, means)),
    ]


def _players(games: Sequence[AuditedGame], made: Rows) -> Iterator[Row]:
    task_of = {game.name: game.task for game in games}
    typed = set(typed_speakers(games))
    mine = grouped(made["game_target_summary"], lambda row: Speaker(*(row[name] for name in Speaker._fields)))
    for speaker, rows in sorted(mine.items()):
        by_task = grouped(rows, lambda row: task_of[row["trace_path"]])
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
            "prose": sum(row["prose_messages"] for row in rows),
            **{name: mean(values) for name, values in told.items()},
            **intervals,
        }


def _split(games: Sequence[AuditedGame], made: Rows) -> Iterator[Row]:
    """Yield the losses of each speaker by source, by channel and by phase; for each split, the parts sum to the total loss."""
    speakers = {game.name: game.speakers for game in games}
    parts: defaultdict[tuple[Speaker, str, str], float] = defaultdict(float)
    for row in made["belief_evidence"]:
        speaker = speakers[row["trace_path"]][row["target_agent"]]
        moved = abs(row["belief_after"] - row["prior"]) - abs(row["belief_before"] - row["prior"])
        for split in SPLITS:
            parts[speaker, split, row[split]] += moved
    for (speaker, split, name), loss in sorted(
        parts.items(), key=lambda part: (part[0][0], SPLITS.index(part[0][1]), part[0][2])
    ):
        whole = sum(value for (other, by, _), value in parts.items() if (other, by) == (speaker, split))
        yield {**named(speaker, games), "split": split, "name": name, "loss": loss, "share": share(loss, whole)}


def _by_prior(games: Sequence[AuditedGame], means: Means) -> Iterator[Row]:
    rows: defaultdict[tuple[object, ...], dict[str, Any]] = defaultdict(dict)
    for row in prior_rows(games, means):
        same = {name: row[name] for name in ("measure", *Speaker._fields)}
        rows[tuple(same.values())] |= {**same, **{f"{name}_{row['prior']:g}": row[name] for name in ("value", "rank")}}
    yield from rows.values()


def _known(rows: Sequence[dict[str, Any]], column: str) -> list[float]:
    return [row[column] for row in rows if row[column] is not None]


def typed_speakers(games: Sequence[AuditedGame]) -> list[Speaker]:
    """Return every speaker without prose in any game, so that its losses are complete."""
    talkers = {game.speakers[seat] for game in games for seat in game.replay.scenario.agents if prose_of(game, seat)}
    return [speaker for speaker in everybody(games) if speaker not in talkers]


def means_by_prior(games: Sequence[AuditedGame]) -> Means:
    """Return both measures of every speaker with typed messages only, under each prior."""
    typed = typed_speakers(games)
    made: dict[str, dict[float, dict[Speaker, float]]] = {measure: {} for measure in MEASURES}
    for prior in PRIORS:
        told = [(game.speakers, measure_privacy(game.replay, prior=prior)) for game in games]
        for measure, losses in MEASURES.items():
            pairs = [pair for speakers, lost in told for pair in zip(speakers, losses(lost), strict=True)]
            mine = grouped(pairs, lambda pair: pair[0])
            # round to nine digits, because sums of equal numbers in another order must be equal
            made[measure][prior] = {speaker: round(fmean(loss for _, loss in mine[speaker]), 9) for speaker in typed}
    return made


def prior_rows(games: Sequence[AuditedGame], means: Means) -> Iterator[Row]:
    """Yield one row per measure, prior and speaker: the mean over its seats, and its rank, 1 for the lowest; ties share one."""
    for measure, by_prior in means.items():
        for prior, values in by_prior.items():
            for speaker, value in values.items():
                rank = 1 + sum(values[other] < value for other in values if other.options == speaker.options)
                yield {"measure": measure, **named(speaker, games), "prior": prior, "value": value, "rank": rank}


def order_notes(games: Sequence[AuditedGame], means: Means) -> Iterator[str]:
    """Yield a note per measure: whether the order at every prior is that at .5, and which players change places."""
    for measure, by_prior in means.items():
        usual = by_prior[PRIOR]
        swapped = [
            f"{_label(first, games)} and {_label(second, games)} at {prior:g}"
            for prior, values in by_prior.items()
            for first, second in combinations(values, 2)
            if first.options == second.options and _order(values, first, second) != _order(usual, first, second)
        ]
        told = f"changes: {', '.join(swapped)}" if swapped else "is the same at every prior"
        yield f"order of players by {measure} {told}"


def _label(speaker: Speaker, games: Sequence[AuditedGame]) -> str:
    return " ".join(word for word in named(speaker, games).values() if word)


def _order(values: Mapping[Speaker, float], first: Speaker, second: Speaker) -> int:
    return (values[first] > values[second]) - (values[first] < values[second])
