"""Formatting of options in `--help`: values are shown as N, PATH or TEXT, and long lists are grouped under headings."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

GROUPS: dict[str, dict[str, str]] = {
    "run": {
        "Most used": "model agent k seeds runtime workers max_cost out resume yes",
        "Plan": "dry_run only shard until alpha retry_of hint executor address key env trust",
        "World": "options control no_control mutate handles mitigate templates",
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
        "Checks": "seeds runtime workers sample thorough changed_first trust env",
        "Instead of the checks": "attacks mutants draw mutations curve into",
        "Output": "json help",
    },
}
"""For each command with many options, their names by heading, in the order of `--help`."""

_WIDEST = 30
"""Columns for the name of an option beside its help, as in every other help."""

_KINDS: dict[Any, str] = {int: "N", float: "X", Path: "PATH"}
"""Types of flags in `--help`; anything else is TEXT."""


def write_options(command: Any, ctx: typer.Context, formatter: Any) -> None:
    """Write arguments and options in aligned columns; options of commands with many of them are grouped under headings."""
    records: dict[str, tuple[str, str]] = {}
    arguments: list[str] = []
    for parameter in command.get_params(ctx):
        is_argument = parameter.param_type_name == "argument"
        label = "" if is_argument else _kind(parameter.type_descriptor.annotation)
        parameter.display_type = lambda ctx, label=label: label
        records[parameter.name] = parameter.get_help_record(ctx)
        arguments += [parameter.name] * is_argument
    groups = {heading: names.split() for heading, names in GROUPS.get(command.name, {}).items()}
    left = [name for name in records if name not in {*arguments, *chain(*groups.values())}]
    width = min(_WIDEST, max(len(name) for name, _ in records.values())) if groups else 0
    for heading, names in {"Arguments": arguments, **groups, "Options": left}.items():
        if names:
            with formatter.section(heading):
                formatter.write_dl([(f"{records[name][0]:<{width}}", records[name][1]) for name in names])
    if isinstance(command, typer.core.TyperGroup):
        command.format_commands(ctx, formatter)


def _kind(annotation: Any) -> str:
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return _KINDS.get(inner, "TEXT")
