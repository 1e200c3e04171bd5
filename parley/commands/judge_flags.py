"""Flags of commands that call a judge model, and the confirmation before its calls are paid for.

`--cost` makes no call, `--yes` skips the question, and without a terminal the command is refused. Answers are cached.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.agents.llm.model import ModelClient, ModelSettings
from harness.agents.llm.response_cache import CachedModel
from harness.errors import Cancelled, UsageError
from harness.output import say

CACHE = Path(".parley-cache/judge")

Judge = Annotated[str, typer.Option("--judge-model", help="Model that judges, as LiteLLM names it.")]
ApiBase = Annotated[str | None, typer.Option("--api-base", help="Base URL of an OpenAI-compatible server.")]
Workers = Annotated[int, typer.Option("--workers", "-n", min=1, help="Model calls at the same time.")]
Cache = Annotated[Path, typer.Option(help="Folder of recorded answers, which are reused.")]
Cost = Annotated[bool, typer.Option("--cost", help="Print the number of model calls, and make none.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Make the model calls without confirmation.")]


def judge_model(name: str, api_base: str | None, cache: Path, *, cost: bool) -> CachedModel:
    """Return the judge. Raises UsageError if it cannot be called, unless only the cost is wanted."""
    client = ModelClient(ModelSettings(name, api_base=api_base))
    if not cost:
        client.check()
    return CachedModel(client, cache)


def agreed_to_ask(model: CachedModel, questions: Sequence[Sequence[dict[str, Any]]], *, cost: bool, yes: bool) -> bool:
    """Print the cost of these conversations, and return True if the user agrees to it; raises like `agreed_to`."""
    new = [messages for messages in questions if not model.is_kept(messages)]
    characters = sum(len(part["content"]) for messages in new for part in messages)
    say(f"{len(new)} model calls, about {characters // 4000} thousand tokens; {len(questions) - len(new)} answers are cached")
    return agreed_to(len(new), "make these calls?", cost=cost, yes=yes)


def agreed_to(calls: int, question: str, *, cost: bool, yes: bool) -> bool:
    """Return True if the calls may be made. Raises Cancelled if the user declines, UsageError without a terminal."""
    if cost or yes or not calls:
        return not cost
    if not sys.stdin.isatty():
        raise UsageError(
            f"{calls} model calls need confirmation at a terminal",
            hint="the same command with --yes, or with --cost",
        )
    if not typer.confirm(question, err=True):
        raise Cancelled("no model call was made")
    return True
