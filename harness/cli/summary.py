"""The summary at the end of a run: each episode if there are few, a row per task if there are many, and the counts.

Below the counts are the bounds for ungraded episodes, what stopped episodes, and the usage of all of them. A failure is shown
with the broken rule and the request that broke it, and with the command that prints the whole episode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from statistics import fmean

from harness.agents.llm.meter import Spent
from harness.cli.amounts import cost_told, counted, dollars, short, size, spent_by
from harness.cli.progress import outcome
from harness.errors import UsageError, quoted
from harness.headline import (
    bounds_of,
    disturbed_by,
    ended_by,
    figure_words,
    forfeits_of,
    headline_of,
    setup_caveat,
    ungraded_by,
)
from harness.output import say, show_table, wrapped
from harness.plugins import optional
from harness.records import Result, RunFolder
from harness.runs.run import summary
from harness.sanitize import printable

_MANY = 12


def show_closing(
    results: Sequence[Result],
    folder: Path,
    *,
    beside_json: bool,
    spent: Spent = Spent(),  # noqa: B008 - it is frozen
    planned: int | None = None,
) -> None:
    """Print the summary of a run; its table is on stdout unless a JSON document is.

    `spent` is the usage of all calls, including lost attempts; `planned` is the number of episodes of the whole run, if that is
    larger.
    """
    if caveat := setup_caveat(results):
        say(f"\n{caveat}")
    if len(results) <= _MANY:
        several = len({result.run for result in results}) > 1
        for result in results:
            line = f"{f'{result.run}: ' if several else ''}{result.key.name}  {_line(result)}"
            say(f"\n{wrapped(line)}")
            if result.trace_hash:
                steps = f", {result.steps} steps" if result.steps else ""
                say(f"  virtual time {result.virtual_time_elapsed:g} s{steps}, trace {result.trace_hash}")
            if result.model:
                say(f"  {_bill(result)}")
            say(f"  read it: harness show {quoted(result.path)}")
    else:
        show_table(*_table(results), beside_json=beside_json)
        _show_failures([result for result in results if not result.success], folder)
    _show_totals(results, folder, spent=spent, planned=len(results) if planned is None else planned)


def show_left(results: Sequence[Result], folder: Path, *, spent: Spent, planned: int) -> None:
    """Print the last lines only, for a run that did not finish; print nothing for one that never began."""
    if not (results or spent.calls or folder.exists()):
        return
    if caveat := setup_caveat(results):
        say(f"\n{caveat}")
    _show_totals(results, folder, spent=spent, planned=planned)


def _show_totals(results: Sequence[Result], folder: Path, *, spent: Spent, planned: int) -> None:
    """Print the counts, the bounds, what stopped episodes, and the usage of all of them."""
    say(f"\n{_summed(results, planned)}; run in {folder} ({size(RunFolder(folder).size)})")
    for line in (*_figures(results), *_totals(results, spent)):
        say(line)


def _figures(results: Sequence[Result]) -> Iterator[str]:
    """Yield the figure that each family is ranked by, if it is neither success nor reward, and its difference from them."""
    for family in dict.fromkeys(result.family for result in results):
        if words := figure_words(family, [result for result in results if result.family == family]):
            yield wrapped(f"  {family}: {words}. {headline_of(family).meaning}")


def _summed(results: Sequence[Result], planned: int) -> str:
    """Return the counts in one line."""
    if not results:
        return f"none of {counted(planned, 'episode')} was played"
    counts = summary(list(results))
    mean = "" if counts["mean_reward"] is None else f", mean reward {counts['mean_reward']}"
    lost = f", {counts['ungraded']} ungraded" if counts["ungraded"] else ""
    left = f"; {planned - len(results)} of {planned} not played" if planned > len(results) else ""
    return f"{counts['success']} of {counts['episodes']} succeeded{mean}{lost}{left}"


def _show_failures(failed: Sequence[Result], folder: Path) -> None:
    """Print the first failures of many, one line each, and the command that prints one."""
    for result in failed[:_MANY]:
        say(f"{result.task_id} s{result.seed}-a{result.attempt}: {_line(result)}")
    if len(failed) > _MANY:
        say(f"and {len(failed) - _MANY} more failures")
    if failed:
        say(f"  read one: harness show {quoted(folder)} {failed[0].task_id} s{failed[0].seed}-a{failed[0].attempt}")


def _line(result: Result) -> str:
    """Return the outcome of an episode; for a graded failure the broken rule, and the request that broke it."""
    if result.success or result.status == "ungraded":
        return printable(outcome(result))
    try:
        breach = optional("episode")(Path(result.path)).breach
    except UsageError:
        # the folder of an earlier episode may be damaged, but its failure is known
        return printable(outcome(result))
    told = breach.sentence if breach else str(result.failure_label)
    if result.stopped:
        told = f"stopped: {result.stopped}; {told}"
        if breach and breach.rule.startswith(result.stopped):
            # no rule was broken, so only the cause that stopped the episode is shown
            where = f", at {breach.where.rpartition(' at ')[2]}" if breach.where else ""
            told = f"stopped: {breach.rule} ({result.failure_label}{where})"
    return printable(f"{told}, reward {result.reward or 0:g}{', recovered' if result.recovered else ''}").replace("\n", " ")


def _totals(results: Sequence[Result], spent: Spent) -> Iterator[str]:
    """Yield the bounds for ungraded episodes, what stopped and disturbed episodes, and the usage of all of them."""
    if bounds := _bounds(results):
        yield f"  {bounds}"
    if stopped := ended_by([result for result in results if not result.success]):
        yield f"  stopped: {stopped}"
    if disturbed := disturbed_by(results):
        yield f"  disturbed: {disturbed}"
    if forfeited := forfeits_of(results):
        yield f"  forfeited turns: {forfeited}"
    total = spent_by(results)
    if total.calls:
        cached, reasoning = sum(one.tokens.cached for one in results), sum(one.tokens.reasoning for one in results)
        kept = f" ({total.kept} from the cache)" if total.kept else ""
        estimated = ", partly estimated" if any(one.tokens.estimated for one in results) else ""
        yield (
            f"  {counted(total.calls, 'call')}{kept}, tokens {total.prompt:,} in ({cached:,} cached), {total.completion:,} out "
            f"({reasoning:,} reasoning){estimated}, {cost_told(total)}"
        )
    if spent.calls > total.calls - total.kept:
        more = f", {dollars(spent.cost_usd)}" if spent.cost_usd else ""
        calls = counted(spent.calls, "call")
        yield f"  in total, with attempts that were lost or abandoned: {calls}, {short(spent.tokens)} tokens{more}"


def _bounds(results: Sequence[Result]) -> str:
    """Return the figures of a run with their bounds if some episodes are ungraded, else ""."""
    graded, lost = ([one for one in results if (one.status == "graded") is is_graded] for is_graded in (True, False))
    rates = bounds_of(graded, lost, lambda one: float(one.success))
    rewards = bounds_of(graded, lost, lambda one: one.reward or 0.0)
    if rates is None or rewards is None or not graded:
        return f"ungraded: {ungraded_by(lost)}" if lost else ""
    rate, mean = fmean(one.success for one in graded), fmean(one.reward or 0.0 for one in graded)
    between = f"{rewards.failed:.3g} to {rewards.succeeded:.3g}"
    return f"success {rate:.1%} ({rates.sentence()}); mean reward {mean:.3g} ({between})"


def stops(results: Sequence[Result]) -> dict[str, int]:
    """Return the number of failed or ungraded episodes that each cause ended."""
    return dict(Counter(str(result.ended_by) for result in results if result.stopped and not result.success))


def _table(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return a row per task of each part; columns without values (stops, costs) are left out."""
    parts = list(dict.fromkeys(result.run for result in results))
    rows = [(part * bool(parts[1:]), *row) for part in parts for row in _by_task([one for one in results if one.run == part])]
    columns = ("part", "task", "episodes", "success", "mean reward", "stopped by", "calls", "tokens", "cost", "labels")
    said = [any(row[number] for row in rows) or name not in _OPTIONAL for number, name in enumerate(columns)]
    return tuple(compress(columns, said)), [tuple(compress(row, said)) for row in rows]


_OPTIONAL = {"part", "stopped by", "calls", "tokens", "cost"}


def _by_task(results: Sequence[Result]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for task_id in dict.fromkeys(result.task_id for result in results):
        mine = [result for result in results if result.task_id == task_id]
        total, stopped = spent_by(mine), stops(mine)
        money = (total.calls or "", short(total.tokens) if total.calls else "", cost_told(total))
        labels = [result.failure_label or "ungraded" for result in mine]
        by_label = ", ".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))
        rewards = [result.reward for result in mine if result.reward is not None]
        mean = f"{sum(rewards) / len(rewards):.3f}" if rewards else "none"
        ended = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in stopped.items())
        rows.append((task_id, len(mine), sum(result.success for result in mine), mean, ended, *money, by_label))
    return rows


def _bill(result: Result) -> str:
    tokens, about = result.tokens, "~" if result.tokens.estimated else ""
    kept = f" ({tokens.kept} from the cache)" if tokens.kept else ""
    cost = "no price" if result.cost_usd is None else f"{dollars(result.cost_usd)}{'~' if result.price == 'estimated' else ''}"
    cost += f" ({dollars(result.kept_usd)} saved by the cache)" if result.kept_usd else ""
    return (
        f"{counted(tokens.calls, 'call')}{kept}, {counted(result.tool_calls, 'tool call')}, "
        f"tokens {about}{tokens.prompt:,} in ({tokens.cached:,} cached), "
        f"{about}{tokens.completion:,} out ({tokens.reasoning:,} reasoning), {cost}"
    )
