"""The seven files of a judge's audit, by the paper's names (Appendix I.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.families.calendar.audits.files import write_tables
from harness.families.calendar.privacy.judge_rows import (
    FIELDS,
    DatasetAudit,
    belief_rows,
    cell_rows,
    comparison_row,
    precision_rows,
)
from harness.families.calendar.privacy.judging import JudgedCase
from harness.report.table import Row
from harness.writing import write_file, writing

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
