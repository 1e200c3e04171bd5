"""Tables 16 and 17 as they are printed, and the precision of judge and reflections beside each other.

The seven files of a judge's audit, by the paper's names (Appendix I.1).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from harness.families.calendar.audits.tables import write_tables
from harness.families.calendar.privacy.cases import PROTOCOL, REFLECTION, JudgedCase
from harness.families.calendar.privacy.judge_rows import (
    FIELDS,
    DatasetAudit,
    agreement_row,
    belief_rows,
    cell_rows,
    comparison_row,
    precision_rows,
)
from harness.report.table import Column, Row, Table
from harness.writing import write_file, writing

_JUDGED = (
    Column("dataset", "Run"),
    Column("games", "Games"),
    Column("cases", "Cases"),
    Column("malformed_cases", "Malformed"),
    Column("retried_cases", "Asked twice"),
    Column("beliefs", "Beliefs"),
    Column("judge_raw_vps", "Judge, raw", "rate"),
    Column("judge_calibrated_vps", "Judge, calibrated", "rate"),
    Column("judge_excess_calibrated_vps", "Judge, excess", "rate"),
    Column("raw_vps_per_case", "Raw per case", "rate"),
    Column("mean_absolute_delta", "Mean |delta|", "rate"),
)
_PRIMARY = {REFLECTION: ("reflection", "Reflection VPS"), PROTOCOL: ("protocol", "Protocol VPS"), None: ("alone", "")}
"""Primary measure -> name of its block and title of its column: the two are never in one."""

_PRECISION = (
    Column("dataset", "Run"),
    Column("judge_truth_directed", "Judge, to the truth"),
    Column("judge_nonzero", "of"),
    Column("judge_precision", "Precision", "number"),
    Column("reflection_truth_directed", "Reflection, to the truth"),
    Column("reflection_nonzero", "of"),
    Column("reflection_precision", "Precision", "number"),
    Column("joined", "Game-targets"),
    Column("judge_better", "Judge better"),
    Column("reflection_better", "Reflection better"),
    Column("ties", "Tie"),
    Column("gap", "Mean gap", "signed"),
    Column("gap_where_better", "Gap where judge better", "signed"),
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

_AGREEMENT = (Column("dataset", "Run"), Column("statistic", "Statistic"), Column("value", "Value", "number", kept=True))

_BELIEFS = (
    "beliefs: scores other than 0; VPS in slots, over all targets and games; excess: above five of each target in each game"
)
_MALFORMED = "malformed: replies that could not be read twice; they are no beliefs, and never 0"
_NO_OTHER = "some wrote prose and no reflection could be read, so nothing stands beside the judge"


def judge_tables(audits: Sequence[DatasetAudit]) -> list[Table]:
    """Every table that has something to say."""
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
    """Table 16 of the runs that one measure was the first of."""
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
    """Write all seven; raises UsageError where the folder cannot be written."""
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
