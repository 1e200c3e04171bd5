"""Every file of a run, read by its model and written again, is the same to the byte."""

from __future__ import annotations

import json
from typing import Any

from harness.records import Result
from harness.runs.request import RunRecord
from tests.parley.reports.recorded import LINES, Recorded
from validators.verdict import Verdict
from worlds.core.parts import import_part


def test_plans(recorded: Recorded) -> None:
    """run.json: the request, and the identity with who plays and the budget."""
    for run in LINES:
        written = (recorded.folder / run / "run.json").read_text(encoding="utf-8")
        plan = RunRecord.model_validate_json(written).model_dump(mode="json")

        assert json.dumps(plan, indent=2, sort_keys=True) + "\n" == written


def test_results_and_verdicts(recorded: Recorded) -> None:
    """result.json and verdict.json."""
    for folder in recorded.episodes:
        for name, model in (("result.json", Result), ("verdict.json", Verdict)):
            document: dict[str, Any] = json.loads((folder / name).read_bytes())

            assert list(model.model_validate(document).model_dump(mode="json").items()) == list(document.items())


def test_measures(recorded: Recorded) -> None:
    """The metrics of a verdict, in every family."""
    measured = set()
    for folder in recorded.episodes:
        verdict = Verdict.model_validate_json((folder / "verdict.json").read_bytes())
        module = import_part("worlds", verdict.family, "rules.measures")
        if module is not None and verdict.metrics:
            measured.add(verdict.family)
            read = module.Measures.model_validate(verdict.metrics)
            assert json.dumps(read.model_dump(mode="json")) == json.dumps(verdict.metrics)

    assert measured == {"contract", "calendar", "hidden-profile"}
