"""Verdict of an episode, which is written once, atomically, beside a reward file with exactly one key.

`reward.json` holds only `reward`, because Harbor computes pass@k only for a single key. Everything else is in `verdict.json`,
whose schema is `verdict.schema.json`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import Field

from worlds.core.models import Span, SpanMs, Strict, Whole

UNEXPLAINED, UNEXPLAINED_SEVERITY = "OTHER", -0.3
"""Label and severity of a failure that no rule names: OTHER in ContractBench's Table 2, for all families."""


class Broken(Strict):
    """One violation, in the order it happened; `vt` in virtual ms."""

    seq: Whole
    vt: SpanMs
    label: str
    rule: str
    also: str | None = None
    detail: dict[str, Any] = {}


class Check(Strict):
    """One test of the hidden validator."""

    name: str
    ok: bool
    message: str = ""


class Verdict(Strict):
    """The judgement of one episode."""

    task_id: str
    family: str
    category: str | None = None
    seed: Whole
    success: bool
    reward: float = Field(ge=0, le=1, allow_inf_nan=False)
    failure_label: str
    severity: float = Field(ge=-1, le=1)
    failure_detail: dict[str, Any] = {}
    violations: tuple[Broken, ...] = ()
    recovered: bool = False
    steps: int = Field(ge=0, lt=2**63)
    virtual_time_elapsed: Span
    """Virtual seconds from the start to the last event."""

    trace_hash: str
    metrics: dict[str, Any] = {}
    """Measurements of the family as JSON (`worlds.<family>.rules.measures.Measures`); empty if nothing could be measured."""

    checks: tuple[Check, ...] = ()


def write_outcome(folder: Path, verdict: Verdict) -> None:
    """Write verdict.json, then reward.json, each atomically by renaming a temporary file."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "verdict.json", verdict.model_dump_json(indent=2).encode() + b"\n")
    _write(folder / "reward.json", json.dumps({"reward": verdict.reward}).encode() + b"\n")


def _write(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    os.replace(beside, path)
