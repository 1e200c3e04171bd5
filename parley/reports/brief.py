"""A report in five lines: the best player of each family and its lead, successes and rewards, ungraded and stopped episodes.

The best player has the highest headline figure among those that played most tasks. Its figure has the interval of the
leaderboard; its lead over the next player has the interval of a paired comparison. Retries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from harness.errors import quoted
from harness.headline import ended_by, headline_of, task_means
from harness.records import Result
from harness.registry import Task
from parley.caveats import bounds_of
from parley.reports.comparison import compared
from parley.reports.evidence import Evidence, Group, Run, gather
from parley.statistics import Interval, share_interval

_NAMED = 3
"""Maximum number of folders that are named in the command for more."""


def brief_lines(runs: Sequence[Run], tasks: Sequence[Task], named: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each family, and one each for successes, ungraded episodes, stopped ones, and the command for more.

    `named` are the folders of the runs as they were typed.
    """
    families = dict.fromkeys(result.family for run in runs for result in run.results)
    evidence = [gather(runs, family, tasks) for family in families]
    for one in evidence:
        yield f"{one.family}: {_best(one)}"
    played = [group for one in evidence for group in one.played]
    yield from _counts([result for group in played for result in (*group.graded, *group.ungraded)])
    folders = " ".join(map(quoted, named)) if len(named) <= _NAMED else "RUN..."
    yield f"every table: harness report {folders} --table all"


def _best(evidence: Evidence) -> str:
    """Return the best player of a family and its lead."""
    headline = headline_of(evidence.family)
    figures = [(group, task_means(group.graded, headline)) for group in evidence.played]
    most = max((len(means) for _, means in figures), default=0)
    if not most:
        return "no player that can be ranked has a graded episode"
    rivals = [(fmean(means.values()), group, means) for group, means in figures if len(means) == most]
    rivals.sort(key=lambda rival: -rival[0])
    value, best, means = rivals[0]
    interval = share_interval([[mean] for mean in means.values()], len(best.graded))
    told = f"with {100 * value:.1f} %{_between(interval)} {headline.title}"
    if len(rivals) == 1:
        fewer = sum(bool(means) for _, means in figures) - 1
        return f"only {best.name} is ranked, {told}" + (f"; players with fewer tasks are left out: {fewer}" if fewer else "")
    return f"best is {best.name} {told}; {_lead(evidence.family, best, rivals[1][1])}"


def _lead(family: str, best: Group, following: Group) -> str:
    """Return the lead of the best player over the next, on the tasks and seeds that both played."""
    both = compared(family, following, best, 0.0)
    if both.mean is None:
        return f"while {following.name} played other tasks"
    ahead = f"{100 * both.mean:.1f} points over" if both.mean else "level with"
    return f"{ahead} {following.name}{_between(both.interval)}"


def _between(interval: Interval | None) -> str:
    return f" (95 % {100 * interval[0]:.1f}..{100 * interval[1]:.1f})" if interval else ""


def _counts(results: Sequence[Result]) -> Iterator[str]:
    graded, lost = ([one for one in results if (one.status == "graded") is is_graded] for is_graded in (True, False))
    mean = f", mean reward {fmean(one.reward or 0.0 for one in graded):.3g}" if graded else ""
    yield f"{sum(one.success for one in graded)} of {len(graded)} graded episodes succeeded{mean}"
    bounds = bounds_of(graded, lost, lambda one: float(one.success))
    yield f"ungraded: {f'the success rate is {bounds.sentence()}' if bounds else 'none'}"
    yield f"stopped: {ended_by([one for one in results if not one.success]) or 'none'}"
