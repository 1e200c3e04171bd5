"""The summary at the end of a run: each episode if there are few, a row per task if there are many, and the counts.

Below the counts are the bounds for ungraded episodes, what stopped episodes, and the usage of all of them. A failure is shown
with the broken rule and the request that broke it, and with the command that prints the whole episode.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from harness.agents.llm.meter import Spent
from harness.cli.amounts import cost_told, counted, dollars, short, size, spent_by
from harness.cli.progress import outcome
from harness.errors import UsageError, quoted
from harness.headline import disturbed_by, ended_by, figure_words, forfeits_of, headline_of, setup_caveat, ungraded_by
from harness.output import people, say
from harness.plugins import optional
from harness.records import Result, RunFolder
from harness.runs.run import summary
from harness.sanitize import printable

MANY = 12


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
    if len(results) <= MANY:
        several = len({result.run for result in results}) > 1
        for result in results:
            line = f"{f'{result.run}: ' if several else ''}{result.key.name}  {outcome_line(result)}"
            say(f"\n{_wrapped(line)}")
            if result.trace_hash:
                steps = f", {result.steps} steps" if result.steps else ""
                say(f"  virtual time {result.virtual_time_elapsed:g} s{steps}, trace {result.trace_hash}")
            if result.model:
                say(f"  {_bill(result)}")
            say(f"  read it: harness show {quoted(result.path)}")
    else:
        optional("many episodes")(results, folder, beside_json=beside_json)
    _show_totals(results, folder, spent=spent, planned=len(results) if planned is None else planned)


def show_left(results: Sequence[Result], folder: Path, *, spent: Spent, planned: int) -> None:
    """Print only the last lines of the summary, for a run that did not finish; print nothing if no episode began."""
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
            yield _wrapped(f"  {family}: {words}. {headline_of(family).meaning}")


def _summed(results: Sequence[Result], planned: int) -> str:
    """Return the counts in one line."""
    if not results:
        return f"none of {counted(planned, 'episode')} was played"
    counts = summary(list(results))
    mean = "" if counts["mean_reward"] is None else f", mean reward {counts['mean_reward']}"
    lost = f", {counts['ungraded']} ungraded" if counts["ungraded"] else ""
    left = f"; {planned - len(results)} of {planned} not played" if planned > len(results) else ""
    return f"{counts['success']} of {counts['episodes']} succeeded{mean}{lost}{left}"


def outcome_line(result: Result) -> str:
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
    if not lost:
        return ""
    if not graded:
        return f"ungraded: {ungraded_by(lost)}"
    bounds_of = optional("bounds")
    rates = bounds_of(graded, lost, lambda one: float(one.success))
    rewards = bounds_of(graded, lost, lambda one: one.reward or 0.0)
    rate, mean = fmean(one.success for one in graded), fmean(one.reward or 0.0 for one in graded)
    between = f"{rewards.failed:.3g} to {rewards.succeeded:.3g}"
    return f"success {rate:.1%} ({rates.sentence()}); mean reward {mean:.3g} ({between})"


def stops(results: Sequence[Result]) -> dict[str, int]:
    """Return the number of failed or ungraded episodes that each cause ended."""
    return dict(Counter(str(result.ended_by) for result in results if result.stopped and not result.success))


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


def _wrapped(line: str) -> str:
    """Return a line for stderr, wrapped at blanks on a terminal and unchanged otherwise."""
    if not people.is_terminal:
        return line
    return textwrap.fill(line, max(20, people.width), subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
