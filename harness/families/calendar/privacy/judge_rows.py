"""The rows of a judge's audit, by the names of the paper's files (Appendix I.1): beliefs, comparison, precision, agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.families.calendar.audits.games import AuditedGame
from harness.families.calendar.privacy.agreement import (
    PairedCell,
    agreement,
    paired_cells,
    precision,
    precision_by_target,
)
from harness.families.calendar.privacy.cases import JudgedCase, judged_games
from harness.families.calendar.privacy.measured import BeliefMove, MeasuredGame, datasets, primary, reflected
from harness.report.table import Row
from worlds.calendar.rules.beliefs import STRONGEST

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
"""Table -> its columns; `judge_more_precise_than_reflection` has those of `judge_vs_reflection_precision`."""

Rows = Sequence[Row]


@dataclass(frozen=True)
class DatasetAudit:
    """One run as a judge reads it, beside what its seats said of themselves."""

    name: str
    judgements: Sequence[JudgedCase]
    judged: Sequence[MeasuredGame]
    own: Sequence[MeasuredGame]
    """Of the games in which some seat's reflection could be read."""

    @property
    def cells(self) -> list[tuple[MeasuredGame, PairedCell]]:
        """Every cell that both sides have."""
        judged = {one.game.name: one for one in self.judged}
        return [(own, cell) for own in self.own for cell in paired_cells(judged[own.game.name], own)]


def audits(games: Sequence[AuditedGame], judgements: Sequence[JudgedCase]) -> list[DatasetAudit]:
    """One for each run."""
    made = []
    for name, mine in datasets(list(games)):
        names = {game.name for game in mine}
        told = [one for one in judgements if one.case.game.name in names]
        own = [measured for game in mine if (measured := reflected(game))]
        made.append(DatasetAudit(name, told, judged_games(mine, told), own))
    return made


def belief_rows(audit: DatasetAudit) -> Iterator[Row]:
    """One row a score of the judge's other than 0, with what came of it."""
    for game in audit.judged:
        yield from ({**_ids(audit, game), **_moved(move)} for move in game.moves)


def comparison_row(audit: DatasetAudit) -> Row:
    """Table 16: the judge beside what measured these games first; sums over all targets and games."""
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
    """One row a game and target of which both sides believe anything."""
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
    """One row a cell that both sides have."""
    for game, cell in audit.cells:
        both = bool(cell.judge and cell.reflection)
        yield {
            **_ids(audit, game), "observer_agent": cell.observer, "target_agent": cell.target, "slot": cell.slot,
            "rounds": cell.rounds, "judge_delta": cell.judge, "judge_mean_delta": cell.judge / cell.rounds,
            "reflection_delta": cell.reflection, "reflection_mean_delta": cell.reflection / cell.rounds,
            "both_nonzero": int(both), "same_direction": int((cell.judge > 0) == (cell.reflection > 0)) if both else None,
        }  # fmt: skip


def agreement_row(audit: DatasetAudit) -> Row | None:
    """Table 17 of a run; None where no cell has both sides."""
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
