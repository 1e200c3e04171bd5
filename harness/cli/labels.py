"""`harness generate labels`: a candidate bank of private labels by a model, checked entry by entry, for a person to read."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.authoring.calendar.bank_writer import TIERS, Kind, write_bank
from harness.cli.console import say
from harness.errors import GateFailed, UsageError

TEMPERATURE = 1.0
"""Asked again, a model should say something else."""


def generate_labels(model: str | None, api_base: str | None, kind: str, tier: str, count: int, out: Path | None) -> None:
    """Write the bank to `out`; raises UsageError for flags that make no sense, GateFailed where no entry would do."""
    example = "harness generate labels --model gpt-5 --tier sensitive --n 20 --out labels.json"
    if model is None or out is None:
        raise UsageError("labels need a model to write them and a file to write", hint=example)
    kinds = {name: name for name in get_args(Kind)}
    if kind not in kinds or tier not in TIERS:
        raise UsageError(f"--kind must be errand or meeting and --tier {', '.join(TIERS)}, not {kind} and {tier}", hint=example)
    if out.exists():
        raise UsageError(f"{out} exists already", hint=example)
    client = ModelClient(ModelSettings(model, api_base=api_base, temperature=TEMPERATURE))
    client.check()
    bank, dropped = write_bank(
        lambda prompt: client.complete([{"role": "user", "content": prompt}]).text, model, kinds[kind], TIERS[tier], count
    )
    why = ", ".join(f"{number} {reason}" for reason, number in sorted(dropped.items()))
    if bank is None:
        raise GateFailed(f"{model} wrote no label that would do{f' (dropped: {why})' if why else ''}")
    out.write_text(bank.model_dump_json(indent=1) + "\n", encoding="utf-8")
    say(f"{len(bank.items)} of {count} labels in {out}{f' (dropped: {why})' if why else ''}; read them before use")
