"""`harness generate labels`: a candidate bank of private labels by a model, checked entry by entry, for a person to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.console import say
from harness.errors import GateFailed, UsageError
from harness.families.calendar.authoring.bank_writer import TIERS, Kind, write_bank
from harness.writing import writing

EXAMPLE = "harness generate labels --model gpt-5 --tier sensitive --n 20 --out labels.json"
TEMPERATURE = 1.0
"""Asked again, a model should say something else."""

Model = Annotated[str | None, typer.Option(help="The model that writes, as LiteLLM names it.")]
ApiBase = Annotated[str | None, typer.Option("--api-base", help="Base URL of an OpenAI-compatible server.")]
KindName = Annotated[str, typer.Option("--kind", help="errand or meeting.")]
TierName = Annotated[str, typer.Option("--tier", help="sensitive, neutral or public.")]
Number = Annotated[int, typer.Option("--n", min=1, max=500, help="How many.")]
Out = Annotated[Path | None, typer.Option(help="The file to write.")]


def generate_labels(
    model: Model = None,
    api_base: ApiBase = None,
    kind: KindName = "errand",
    tier: TierName = "sensitive",
    number: Number = 20,
    out: Out = None,
) -> None:
    """Private labels that a model writes, for you to read."""
    if model is None or out is None:
        raise UsageError("labels need a model to write them and a file to write", hint=EXAMPLE)
    kinds = {name: name for name in get_args(Kind)}
    if kind not in kinds or tier not in TIERS:
        raise UsageError(f"--kind must be errand or meeting and --tier {', '.join(TIERS)}, not {kind} and {tier}", hint=EXAMPLE)
    if out.exists():
        raise UsageError(f"{out} exists already", hint=EXAMPLE)
    client = ModelClient(ModelSettings(model, api_base=api_base, temperature=TEMPERATURE))
    client.check()
    # before the model is paid
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    bank, dropped = write_bank(
        lambda prompt: client.complete([{"role": "user", "content": prompt}]).text, model, kinds[kind], TIERS[tier], number
    )
    why = ", ".join(f"{times} {reason}" for reason, times in sorted(dropped.items()))
    if bank is None:
        raise GateFailed(f"{model} wrote no label that would do{f' (dropped: {why})' if why else ''}")
    with writing(out):
        out.write_text(bank.model_dump_json(indent=1) + "\n", encoding="utf-8")
    say(f"{len(bank.items)} of {number} labels in {out}{f' (dropped: {why})' if why else ''}; read them before use")
