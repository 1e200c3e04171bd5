"""The options in `--help`: values are called N, PATH and TEXT, and where there are many they stand under headings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_origin

import typer

GROUPS: dict[str, dict[str, str]] = {
    "run": {
        "Most used": "model agent k seeds runtime workers max_cost out resume yes",
        "Plan": "dry_run only shard until alpha retry_of hint executor address key env trust",
        "World": "options mutate handles mitigate templates",
        "Seats of a game": "seat seat_model rotate team entrant entrant_seat variant seat_variant",
        "Agent and model calls": "interface protocol api_base temperature reply_tokens context timeout patience breaker "
        "no_probe cache record_wire prices script",
        "Limits": "wall turns tokens cost max_tokens",
        "Output and settings": "report json jsonl verbose config preset print_config help",
    },
    "host": {
        "Game": "seat seed options minutes runtime",
        "People": "patience port bind",
        "Models at seats": "api_base temperature",
        "Output": "out json help",
    },
    "report": {
        "Which tables and rows": "table published all_tasks",
        "Output": "markdown json csv html plot figures help",
    },
    "verify": {
        "Proof": "seeds runtime workers sample thorough changed_first trust env",
        "Instead of the proof": "attacks mutants draw mutations curve into",
        "Output": "json help",
    },
}
"""For each command with many options, their names by heading, in the order of `--help`."""

_OTHERS, _WIDEST = "Options", 30
"""The heading of options that no group has; columns for the name of an option beside its help, as everywhere else."""

_KINDS: dict[Any, str] = {int: "N", float: "X", Path: "PATH"}
"""Types of flags in `--help`; anything else is TEXT."""


def write_options(command: Any, ctx: typer.Context, formatter: Any) -> None:
    """Write the arguments, and then the options under the headings of their groups, all in the same columns."""
    for parameter in command.params:
        label = "" if parameter.param_type_name == "argument" else _kind(parameter.type_descriptor.annotation)
        parameter.display_type = lambda ctx, label=label: label
    if command.name in GROUPS:
        _write_groups(command, GROUPS[command.name], ctx, formatter)
    else:
        type(command).format_options(command, ctx, formatter)


def _kind(annotation: Any) -> str:
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return _KINDS.get(inner, "TEXT")


def _write_groups(command: Any, groups: dict[str, str], ctx: typer.Context, formatter: Any) -> None:
    parameters = {parameter.name: parameter for parameter in command.get_params(ctx)}
    arguments = [name for name, parameter in parameters.items() if parameter.param_type_name == "argument"]
    headed = {"Arguments": arguments} | {heading: names.split() for heading, names in groups.items()}
    left = [name for name in parameters if not any(name in names for names in headed.values())]
    records = {name: parameter.get_help_record(ctx) for name, parameter in parameters.items()}
    width = min(_WIDEST, max(len(told) for told, _ in records.values()))
    for heading, names in (headed | ({_OTHERS: left} if left else {})).items():
        with formatter.section(heading):
            formatter.write_dl([(f"{records[name][0]:<{width}}", records[name][1]) for name in names])
