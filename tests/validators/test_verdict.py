"""verdict.json has a schema that is kept, and is written whole beside a reward with exactly one key."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from validators.verdict import Broken, Check, Verdict, write_outcome


def verdict(**changes: Any) -> Verdict:
    """A verdict with everything in it."""
    fields: dict[str, Any] = {
        "task_id": "t", "family": "contract", "seed": 0, "success": False, "reward": 0.25, "severity": -0.3,
        "failure_label": "OTHER", "steps": 1, "virtual_time_elapsed": 1.5, "trace_hash": "0" * 64,
        "violations": (Broken(seq=1, vt=5, label="OTHER", rule="r"),),
        "checks": (Check(name="test_a", ok=False, message="ü"),),
    }  # fmt: skip
    return Verdict(**{**fields, **changes})


def test_schema_is_the_models(root: Path) -> None:
    """The schema file is generated: json.dumps(Verdict.model_json_schema(), indent=2, sort_keys=True)."""
    kept = (root / "validators" / "verdict.schema.json").read_text(encoding="utf-8")

    assert json.dumps(Verdict.model_json_schema(), indent=2, sort_keys=True) + "\n" == kept


def test_outcome_files(tmp_path: Path) -> None:
    """Two files, the reward with one key, and no half file beside them."""
    write_outcome(tmp_path / "out", verdict())

    assert ["reward.json", "verdict.json"] == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert (tmp_path / "out" / "reward.json").read_bytes() == b'{"reward": 0.25}\n'


def test_round_trip(tmp_path: Path) -> None:
    """What is written reads back as the same verdict."""
    write_outcome(tmp_path, verdict())

    assert verdict() == Verdict.model_validate_json((tmp_path / "verdict.json").read_bytes())


@pytest.mark.parametrize(
    "change",
    [
        {"reward": 1.01},
        {"reward": -0.01},
        {"reward": math.nan},
        {"reward": math.inf},
        {"severity": -1.1},
        {"steps": -1},
        {"extra": 1},
    ],
)
def test_refused(change: dict[str, Any]) -> None:
    """A reward is finite and in 0..1, a severity in -1..1, and nothing unknown is in it."""
    with pytest.raises(ValidationError):
        verdict(**change)
