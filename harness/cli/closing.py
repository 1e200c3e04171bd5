"""The block that closes a run: each episode where there are few, a row a task where there are many, and the counts.

A failure is told by the rule that broke and the request that broke it, with the command that reads the whole episode.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.cli.progress import outcome
from harness.console import say, show_table
from harness.errors import UsageError
from harness.printable import printable
from harness.reading import read_episode
from harness.records import Result
from harness.runs.run import summary

_MANY = 12


def show_closing(results: Sequence[Result], folder: Path, *, beside_json: bool) -> None:
    """Say how a run went; its table is on stdout unless a JSON document is."""
    counts = summary(list(results))
    if len(results) <= _MANY:
        for result in results:
            say(f"\n{result.key.name}  {_line(result)}")
            if result.trace_hash:
                steps = f", {result.steps} steps" if result.steps else ""
                say(f"  virtual time {result.virtual_time_elapsed:g} s{steps}, trace {result.trace_hash}")
            if result.model:
                say(f"  {_bill(result)}")
            say(f"  read it: harness show {shlex.quote(result.path)}")
    else:
        show_table(("task", "episodes", "success", "mean reward", "labels"), _by_task(results), beside_json=beside_json)
        _show_failures([result for result in results if not result.success], folder)
    mean = counts["mean_reward"]
    say(f"\n{counts['success']} of {counts['episodes']} succeeded, mean reward {mean if mean is not None else 'none'}"
        f"{', ' + str(counts['ungraded']) + ' ungraded' if counts['ungraded'] else ''}; run in {folder}")  # fmt: skip


def _show_failures(failed: Sequence[Result], folder: Path) -> None:
    """The first failures of many, a line each, and how to read them."""
    for result in failed[:_MANY]:
        say(f"{result.task_id} s{result.seed}-a{result.attempt}: {_line(result)}")
    if len(failed) > _MANY:
        say(f"and {len(failed) - _MANY} more failures")
    if failed:
        say(f"  read one: harness show {shlex.quote(str(folder))} {failed[0].task_id} s{failed[0].seed}-a{failed[0].attempt}")


def _line(result: Result) -> str:
    """What came of an episode; for a graded failure the rule that broke, and the request that broke it."""
    if result.success or result.status == "ungraded":
        return printable(outcome(result))
    try:
        breach = read_episode(Path(result.path)).breach
    except UsageError:
        # an earlier episode of a resumed run may be anything; that it failed is known all the same
        return printable(outcome(result))
    told = breach.sentence if breach else str(result.failure_label)
    return printable(f"{told}, reward {result.reward or 0:g}{', recovered' if result.recovered else ''}").replace("\n", " ")


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
    tokens, about = result.tokens, "~" if result.tokens.estimated else ""
    kept = f", {tokens.kept} from the cache" if tokens.kept else ""
    cost = "no price" if result.cost_usd is None else f"${result.cost_usd:.4f}{'~' if result.price == 'estimated' else ''}"
    return (
        f"{tokens.calls} calls{kept}, {result.tool_calls} tool calls, "
        f"tokens {about}{tokens.prompt} in ({tokens.cached} cached), "
        f"{about}{tokens.completion} out ({tokens.reasoning} reasoning), {cost}"
    )
