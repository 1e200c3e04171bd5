"""The block that closes a run: each episode where there are few, a row a task where there are many, and the counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.cli.console import say, show_table
from harness.cli.progress import outcome
from harness.records import Result
from harness.run import summary

_MANY = 12


def show_closing(results: Sequence[Result], folder: Path) -> None:
    """Say how a run went."""
    counts = summary(list(results))
    if len(results) <= _MANY:
        for result in results:
            say(f"\n{result.key.name}  {outcome(result)}")
            if result.trace_hash:
                steps = f", {result.steps} steps" if result.steps else ""
                say(f"  virtual time {result.virtual_time_elapsed:g} s{steps}, trace {result.trace_hash}")
            if result.model:
                say(f"  {_bill(result)}")
            say(f"  record {result.path}")
    else:
        show_table(("task", "episodes", "success", "mean reward", "labels"), _by_task(results))
    mean = counts["mean_reward"]
    say(f"\n{counts['success']} of {counts['episodes']} succeeded, mean reward {mean if mean is not None else 'none'}"
        f"{', ' + str(counts['ungraded']) + ' ungraded' if counts['ungraded'] else ''}; run in {folder}")  # fmt: skip


def _by_task(results: Sequence[Result]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for task_id in dict.fromkeys(result.task_id for result in results):
        mine = [result for result in results if result.task_id == task_id]
        labels = [result.failure_label or "ungraded" for result in mine]
        counted = ", ".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))
        rewards = [result.reward for result in mine if result.reward is not None]
        mean = f"{sum(rewards) / len(rewards):.3f}" if rewards else "none"
        rows.append((task_id, len(mine), sum(result.success for result in mine), mean, counted))
    return rows


def _bill(result: Result) -> str:
    tokens = result.tokens
    cost = "no price" if result.cost_usd is None else f"${result.cost_usd:.4f}{'~' if result.price == 'estimated' else ''}"
    return (
        f"{tokens.calls} calls, {result.tool_calls} tool calls, tokens {tokens.prompt} in ({tokens.cached} cached), "
        f"{tokens.completion} out ({tokens.reasoning} reasoning), {cost}"
    )
