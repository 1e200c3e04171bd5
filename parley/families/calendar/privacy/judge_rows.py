"""Rows, tables and files of the judge's privacy audit.

The rows have the names of the paper's files (Appendix I.1): beliefs, comparison, precision, agreement.

The agreement of a judge with the seats' own reflections is by cell and by target (Appendices I.4 and I.5).

1. A cell is a slot of a target as seen by one observer in one game: its scores are summed over rounds before they are compared.
   A round counts for a cell if the observer's reflection on the target could be parsed, and the judge's reply too, if there was
   anything to judge; then both have a score there, 0 if nothing was delivered.
2. Precision is the share of nonzero scores that point to the truth, each round by itself.
3. Kappa is Cohen's over three signs: taken, free, nothing; chance is that of both sides' own shares.

The tables are Tables 16 and 17 in the paper's form, and the precision of judge and reflections side by side. The seven files
have the paper's names (Appendix I.1).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from harness.atomic_write import write_file, writing
from harness.statistics import scipy_stats
from parley.families.calendar.audits.games import AuditedGame
from parley.families.calendar.audits.tables import write_tables
from parley.families.calendar.privacy.cases import (
    PROTOCOL,
    REFLECTION,
    BeliefMove,
    JudgedCase,
    MeasuredGame,
    Place,
    datasets,
    judged_games,
    primary,
    reflected,
)
from parley.reports.table import Column, Row, Table, titled
from validators.calendar.reflections import Belief
from worlds.calendar.rules.replies import STRONGEST

Cell = tuple[int, int, int]
"""Observer, target and slot, of one game."""


class PairedCell(NamedTuple):
    """A cell as both sides see it; sums over `rounds` rounds."""

    observer: int
    target: int
    slot: int
    judge: float
    reflection: float
    rounds: int


class Precision(NamedTuple):
    """The number of nonzero scores, and of those that point to the truth."""

    nonzero: int
    truthful: int

    @property
    def share(self) -> float | None:
        """Precision; None without scores."""
        return self.truthful / self.nonzero if self.nonzero else None


@dataclass(frozen=True, slots=True)
class CellAgreement:
    """Table 17, row by row; None if a ratio has a zero denominator, or a side never varies."""

    union: int
    judge_nonzero: int
    reflection_nonzero: int
    both_nonzero: int
    jaccard: float | None
    judge_coverage: float | None
    """Share of the cells marked by reflections that the judge marks."""

    reflection_coverage: float | None
    direction: float | None
    kappa: float | None
    pearson: float | None
    pearson_both: float | None


def paired_cells(judged: MeasuredGame, own: MeasuredGame) -> Iterator[PairedCell]:
    """Yield every cell of a game that both sides have, in order."""
    places = {_place(one) for one in own.beliefs} - judged.missing
    judge, reflection = _summed(judged.beliefs, places), _summed(own.beliefs, places)
    rounds = Counter((observer, target) for _, observer, target in places)
    for cell in sorted(reflection):
        yield PairedCell(*cell, judge.get(cell, 0.0), reflection[cell], rounds[cell[:2]])


def agreement(cells: Sequence[PairedCell]) -> CellAgreement:
    """Return Table 17 over cells."""
    judge, reflection = [one.judge for one in cells], [one.reflection for one in cells]
    both = [one for one in cells if one.judge and one.reflection]
    by_judge, by_reflection = sum(map(bool, judge)), sum(map(bool, reflection))
    same = sum((one.judge > 0) == (one.reflection > 0) for one in both)
    return CellAgreement(
        union=len(cells),
        judge_nonzero=by_judge,
        reflection_nonzero=by_reflection,
        both_nonzero=len(both),
        jaccard=_ratio(len(both), by_judge + by_reflection - len(both)),
        judge_coverage=_ratio(len(both), by_reflection),
        reflection_coverage=_ratio(len(both), by_judge),
        direction=_ratio(same, len(both)),
        kappa=kappa([(_sign(one.judge), _sign(one.reflection)) for one in cells]),
        pearson=pearson(judge, reflection),
        pearson_both=pearson([one.judge for one in both], [one.reflection for one in both]),
    )


def precision(games: Iterable[MeasuredGame]) -> Precision:
    """Return the precision over all nonzero scores."""
    moves = [move for game in games for move in game.moves]
    return Precision(len(moves), sum(move.is_truthful for move in moves))


def precision_by_target(game: MeasuredGame) -> Mapping[int, Precision]:
    """Return the precision of each target with a nonzero score."""
    by_seat: defaultdict[int, list[bool]] = defaultdict(list)
    for move in game.moves:
        by_seat[move.target].append(move.is_truthful)
    return {target: Precision(len(truthful), sum(truthful)) for target, truthful in sorted(by_seat.items())}


def kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Return Cohen's kappa of two labellings; None without pairs, and if chance agreement is complete."""
    if not pairs:
        return None
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(first[label] * second[label] for label in first) / n**2
    observed = sum(one == other for one, other in pairs) / n
    return None if chance == 1 else (observed - chance) / (1 - chance)


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None if a side does not vary."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return float(scipy_stats().pearsonr(xs, ys).statistic)


def _place(belief: Belief) -> Place:
    return belief.round, belief.observer, belief.target


def _summed(beliefs: Iterable[Belief], places: set[Place]) -> dict[Cell, float]:
    sums: defaultdict[Cell, float] = defaultdict(float)
    for belief in beliefs:
        if _place(belief) in places:
            for slot, score in enumerate(belief.scores):
                sums[belief.observer, belief.target, slot] += score
    return sums


def _sign(score: float) -> int:
    return (score > 0) - (score < 0)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


IDS = ("dataset", "trace_path", "game_id")
_MOVE = (*IDS, "round", "observer_agent", "target_agent", "slot", "delta", "raw_vps")
FIELDS = {
    "judge_beliefs": _MOVE,
    "judge_beliefs_calibrated": (*_MOVE, "occupied", "truth_directed", "calibrated_vps"),
    "metric_comparison": (
        "dataset", "games", "cases", "retried_cases", "malformed_cases", "beliefs", "judge_raw_vps", "judge_calibrated_vps",
        "judge_excess_calibrated_vps", "primary_metric", "primary_vps", "primary_excess_vps", "raw_vps_per_case",
        "mean_absolute_delta", "judge_nonzero", "judge_truth_directed", "judge_precision", "reflection_nonzero",
        "reflection_truth_directed", "reflection_precision",
    ),
    "judge_vs_reflection_precision": (
        *IDS, "target_agent", "judge_nonzero", "judge_truth_directed", "judge_precision", "reflection_nonzero",
        "reflection_truth_directed", "reflection_precision", "precision_gap", "more_precise",
    ),
    "judge_reflection_cell_agreement": (
        *IDS, "observer_agent", "target_agent", "slot", "rounds", "judge_delta", "judge_mean_delta", "reflection_delta",
        "reflection_mean_delta", "both_nonzero", "same_direction",
    ),
}  # fmt: skip
"""For each table, its columns; `judge_more_precise_than_reflection` has those of `judge_vs_reflection_precision`."""


@dataclass(frozen=True)
class DatasetAudit:
    """A run as a judge reads it, and its seats' own reflections."""

    name: str
    judgements: Sequence[JudgedCase]
    judged: Sequence[MeasuredGame]
    own: Sequence[MeasuredGame]
    """Games in which some seat's reflection could be parsed."""

    @property
    def cells(self) -> list[tuple[MeasuredGame, PairedCell]]:
        """Every cell that both sides have."""
        judged = {one.game.name: one for one in self.judged}
        return [(own, cell) for own in self.own for cell in paired_cells(judged[own.game.name], own)]


def audits(games: Sequence[AuditedGame], judgements: Sequence[JudgedCase]) -> list[DatasetAudit]:
    """Return one audit per run."""
    made = []
    for name, mine in datasets(list(games)):
        names = {game.name for game in mine}
        told = [one for one in judgements if one.case.game.name in names]
        own = [measured for game in mine if (measured := reflected(game))]
        made.append(DatasetAudit(name, told, judged_games(mine, told), own))
    return made


def belief_rows(audit: DatasetAudit) -> Iterator[Row]:
    """Yield one row per nonzero score of the judge, with its calibration."""
    for game in audit.judged:
        yield from ({**_ids(audit, game), **_moved(move)} for move in game.moves)


def comparison_row(audit: DatasetAudit) -> Row:
    """Return Table 16: the judge beside the primary measure of these games; sums over all targets and games."""
    lost = [loss for game in audit.judged for loss in game.by_target.values()]
    first, mine, own = primary([one.game for one in audit.judged]), precision(audit.judged), precision(audit.own)
    raw = sum(loss.raw for loss in lost)
    read = [one for one in audit.judgements if one.beliefs is not None]
    return {
        "dataset": audit.name,
        "games": len(audit.judged),
        "cases": len(audit.judgements),
        "retried_cases": sum(len(one.replies) > 1 for one in audit.judgements),
        "malformed_cases": len(audit.judgements) - len(read),
        "beliefs": mine.nonzero,
        "judge_raw_vps": raw,
        "judge_calibrated_vps": sum(loss.calibrated for loss in lost),
        "judge_excess_calibrated_vps": sum(game.excess for game in audit.judged),
        "primary_metric": first.name if first else None,
        "primary_vps": first.vps if first else None,
        "primary_excess_vps": first.excess if first else None,
        "raw_vps_per_case": raw / len(read) if read else None,
        "mean_absolute_delta": raw * STRONGEST / mine.nonzero if mine.nonzero else None,
        "judge_nonzero": mine.nonzero,
        "judge_truth_directed": mine.truthful,
        "judge_precision": mine.share,
        "reflection_nonzero": own.nonzero if audit.own else None,
        "reflection_truth_directed": own.truthful if audit.own else None,
        "reflection_precision": own.share,
    }


def precision_rows(audit: DatasetAudit) -> Iterator[dict[str, Any]]:
    """Yield one row per game and target with nonzero scores of both sides."""
    judged = {one.game.name: one for one in audit.judged}
    for own in audit.own:
        by_judge, by_seats = precision_by_target(judged[own.game.name]), precision_by_target(own)
        for target in sorted(by_judge.keys() & by_seats.keys()):
            judge, reflection = by_judge[target], by_seats[target]
            ours, theirs = judge.truthful / judge.nonzero, reflection.truthful / reflection.nonzero
            yield {
                **_ids(audit, own), "target_agent": target,
                "judge_nonzero": judge.nonzero, "judge_truth_directed": judge.truthful, "judge_precision": ours,
                "reflection_nonzero": reflection.nonzero, "reflection_truth_directed": reflection.truthful,
                "reflection_precision": theirs, "precision_gap": ours - theirs,
                "more_precise": "tie" if ours == theirs else "judge" if ours > theirs else "reflection",
            }  # fmt: skip


def cell_rows(audit: DatasetAudit) -> Iterator[Row]:
    """Yield one row per cell that both sides have."""
    for game, cell in audit.cells:
        both = bool(cell.judge and cell.reflection)
        yield {
            **_ids(audit, game), "observer_agent": cell.observer, "target_agent": cell.target, "slot": cell.slot,
            "rounds": cell.rounds, "judge_delta": cell.judge, "judge_mean_delta": cell.judge / cell.rounds,
            "reflection_delta": cell.reflection, "reflection_mean_delta": cell.reflection / cell.rounds,
            "both_nonzero": int(both), "same_direction": int((cell.judge > 0) == (cell.reflection > 0)) if both else None,
        }  # fmt: skip


def agreement_row(audit: DatasetAudit) -> Row | None:
    """Return Table 17 of a run; None if no cell has both sides."""
    cells = [cell for _, cell in audit.cells]
    return {"dataset": audit.name, **asdict(agreement(cells))} if cells else None


def _ids(audit: DatasetAudit, measured: MeasuredGame) -> dict[str, str]:
    return {"dataset": audit.name, "trace_path": measured.game.name, "game_id": measured.game.key}


def _moved(move: BeliefMove) -> dict[str, Any]:
    raw = abs(move.score) / STRONGEST
    return {
        "round": move.round, "observer_agent": move.observer, "target_agent": move.target, "slot": move.slot,
        "delta": move.score, "raw_vps": raw, "occupied": int(move.taken), "truth_directed": int(move.is_truthful),
        "calibrated_vps": raw if move.is_truthful else 0.0,
    }  # fmt: skip


_JUDGED = (
    *titled(dataset="Run", games="Games", cases="Cases", malformed_cases="Malformed", retried_cases="Asked twice"),
    Column("beliefs", "Beliefs"),
    *titled("rate", judge_raw_vps="Judge, raw", judge_calibrated_vps="Judge, calibrated"),
    *titled("rate", judge_excess_calibrated_vps="Judge, excess", raw_vps_per_case="Raw per case"),
    Column("mean_absolute_delta", "Mean |delta|", "rate"),
)
_PRIMARY = {REFLECTION: ("reflection", "Reflection VPS"), PROTOCOL: ("protocol", "Protocol VPS"), None: ("alone", "")}
"""For each primary measure, the name of its block and title of its column; the two never share a block."""

_PRECISION = (
    *titled(dataset="Run", judge_truth_directed="Judge, to the truth", judge_nonzero="of"),
    Column("judge_precision", "Precision", "number"),
    *titled(reflection_truth_directed="Reflection, to the truth", reflection_nonzero="of"),
    Column("reflection_precision", "Precision", "number"),
    *titled(joined="Game-targets", judge_better="Judge better", reflection_better="Reflection better", ties="Tie"),
    *titled("signed", gap="Mean gap", gap_where_better="Gap where judge better"),
)
_ROWS = {
    "union": "Union cells compared",
    "judge_nonzero": "Judge nonzero cells",
    "reflection_nonzero": "Reflection nonzero cells",
    "both_nonzero": "Both nonzero",
    "jaccard": "Jaccard of nonzero cells",
    "judge_coverage": "Judge coverage of reflection",
    "reflection_coverage": "Reflection coverage of judge",
    "direction": "Same direction, both nonzero",
    "kappa": "Kappa of signs, union",
    "pearson": "Pearson, union",
    "pearson_both": "Pearson, both nonzero",
}
"""The rows of Table 17, in its order."""

_AGREEMENT = (*titled(dataset="Run", statistic="Statistic"), Column("value", "Value", "number", kept=True))

_BELIEFS = (
    "beliefs: scores other than 0; VPS in slots, over all targets and games; excess: above five of each target in each game"
)
_MALFORMED = "malformed: replies that could not be read twice; they are no beliefs, and never 0"
_NO_OTHER = "some wrote prose and no reflection could be read, so nothing stands beside the judge"


def judge_tables(audits: Sequence[DatasetAudit]) -> list[Table]:
    """Return every table that is not empty."""
    compared = tuple(comparison_row(one) for one in audits)
    made = [
        *(_block(metric, [row for row in compared if row["primary_metric"] == metric]) for metric in _PRIMARY),
        Table(
            "precision", "Scores that go towards the truth (Appendix I.4)", _PRECISION, tuple(map(_precise, audits, compared))
        ),
        Table("agreement", "Judge against reflections, by cell (Table 17)", _AGREEMENT, tuple(_stated(audits))),
    ]
    return [table for table in made if table.rows]


def _block(metric: str | None, rows: Sequence[Row]) -> Table:
    """Return Table 16 of the runs with this primary measure."""
    name, title = _PRIMARY[metric]
    primary = (Column("primary_vps", title, "rate"), Column("primary_excess_vps", f"{title}, excess", "rate")) if title else ()
    beside = f"beside {metric}" if metric else "alone"
    columns = (*_JUDGED, Column("primary_metric", "Primary measure", shown=False), *primary)
    notes = (_BELIEFS, _MALFORMED) if metric else (_BELIEFS, _MALFORMED, _NO_OTHER)
    return Table(f"judge-{name}", f"Judge {beside} (Table 16)", columns, tuple(rows), notes)


def _precise(audit: DatasetAudit, compared: Row) -> Row:
    rows = list(precision_rows(audit))
    times = Counter(row["more_precise"] for row in rows)
    gaps, better = (
        [row["precision_gap"] for row in rows],
        [row["precision_gap"] for row in rows if row["more_precise"] == "judge"],
    )
    joined = {
        "joined": len(rows),
        "judge_better": times["judge"],
        "reflection_better": times["reflection"],
        "ties": times["tie"],
    }
    return {
        **compared,
        **(joined if audit.own else {}),
        "gap": fmean(gaps) if gaps else None,
        "gap_where_better": fmean(better) if better else None,
    }


def _stated(audits: Sequence[DatasetAudit]) -> Iterator[Row]:
    for audit in audits:
        row = agreement_row(audit)
        for key, name in _ROWS.items() if row else ():
            value = row[key] if row else None
            # counts as they are, ratios to three digits
            yield {"dataset": audit.name, "statistic": name, "value": str(value) if isinstance(value, int) else value}


CASES = "judge_cases.json"


def write_audit(audits: Sequence[DatasetAudit], model: str, folder: Path) -> list[Path]:
    """Write all seven files. Raises UsageError if the folder cannot be written."""
    precise = [row for audit in audits for row in precision_rows(audit)]
    beliefs = [row for audit in audits for row in belief_rows(audit)]
    rows: dict[str, Sequence[Row]] = {
        "judge_beliefs": [{name: row[name] for name in FIELDS["judge_beliefs"]} for row in beliefs],
        "judge_beliefs_calibrated": beliefs,
        "metric_comparison": [comparison_row(audit) for audit in audits],
        "judge_vs_reflection_precision": precise,
        "judge_more_precise_than_reflection": [row for row in precise if row["more_precise"] == "judge"],
        "judge_reflection_cell_agreement": [row for audit in audits for row in cell_rows(audit)],
    }
    fields = {**FIELDS, "judge_more_precise_than_reflection": FIELDS["judge_vs_reflection_precision"]}
    paths = write_tables({name: (fields[name], mine) for name, mine in rows.items()}, folder)
    cases = [_case(audit, one, model) for audit in audits for one in audit.judgements]
    with writing(folder):
        write_file(folder / CASES, json.dumps(cases, ensure_ascii=False, indent=1).encode() + b"\n")
    return [folder / CASES, *paths]


def _case(audit: DatasetAudit, judgement: JudgedCase, model: str) -> dict[str, Any]:
    case = judgement.case
    state = "malformed" if judgement.beliefs is None else "read" if len(judgement.replies) == 1 else "read at the second try"
    return {
        "dataset": audit.name, "trace_path": case.game.name, "game_id": case.game.key, "round": case.round,
        "recipient_agent": case.recipient, "target_agents": case.targets, "model": model, "state": state,
        "messages": [
            {"event_index": one.seq, "from_agent": one.sender, "channel": one.channel, "content": one.content}
            for one in case.messages
        ],
        "prompt": case.prompt, "replies": list(judgement.replies),
    }  # fmt: skip
