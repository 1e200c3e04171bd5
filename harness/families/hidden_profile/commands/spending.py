"""Asks before model calls are paid for: `--cost` makes none, `--yes` asks nobody, and nobody at the terminal is a refusal."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from harness.errors import Cancelled, UsageError

Cost = Annotated[bool, typer.Option("--cost", help="Say how many calls it would take, and make none.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")]


def agreed_to(calls: int, question: str, *, cost: bool, yes: bool) -> bool:
    """Whether to go on; raises Cancelled where the user says no, UsageError where nobody can be asked."""
    if cost or yes or not calls:
        return not cost
    if not sys.stdin.isatty():
        raise UsageError(f"{calls} model calls were not agreed to", hint="the same command with --yes, or with --cost")
    if not typer.confirm(question, err=True):
        raise Cancelled("nothing was asked")
    return True
