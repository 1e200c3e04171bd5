"""A report in five lines: the best player of each family and its lead, successes and rewards, ungraded and stopped episodes.

The best player has the highest headline figure among those that played most tasks. Its figure has the interval of the
leaderboard; its lead over the next player has the interval of a paired comparison. Retries are left out.

Runs with `--until` have a table of decisions: their plain mean is biased, the confidence sequence beside it is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from harness.errors import quoted
from harness.headline import ended_by, headline_of, task_means
from harness.records import Result
from harness.registry import Task
from harness.runs.request import player_of
from parley.caveats import bounds_of
from parley.reports.comparison import compared
from parley.reports.evidence import Evidence, Group, Run, gather
from parley.reports.table import Column, Table, table_of
from parley.statistics import Interval, share_interval
from parley.sweeps.early_stopping import BIASED, Decision, Step, read_decision

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


_COLUMNS = (
    Column("first", "A", of=lambda one: player_of(one.until.first)),
    Column("second", "B", of=lambda one: player_of(one.until.second)),
    Column("winner", "Better", of=lambda one: player_of(one.winner) if one.winner else "not decided"),
    Column("e_value", "e-value", "rate", of=lambda one: one.path[-1].e_value if one.path else None),
    Column("needed", "needs", "rate", of=lambda one: one.needed),
    Column("tasks", "Tasks", of=lambda one: len(one.path)),
    Column("of", "of", of=lambda one: len(one.until.order)),
    Column("share", "Played %", "percent", of=lambda one: one.share),
    Column("interval", "A - B, anytime-valid", "signed_interval", of=lambda one: one.interval if one.path else None),
    Column("mean", "Mean so far (biased)", "signed", of=lambda one: fmean(one.differences) if one.path else None),
    Column("alpha", "alpha", "p", shown=False, of=lambda one: one.until.alpha),
    Column("path", "Path", shown=False, of=lambda one: " ".join(map(_step, one.path)) or None),
)
_METHOD = (
    "one difference per task, in the order of the plan; betting e-process, decided at 1 / alpha in either direction; "
    "until.json has the path"
)


def decisions(paths: Iterable[Path]) -> list[Decision]:
    """Return the decisions of the sweeps at these paths, each once. A path is a sweep, a part of one, or a folder of sweeps."""
    folders = dict.fromkeys(
        folder.resolve() for path in paths for folder in (path, path.parent, *sorted(path.glob("*/until.json")))
    )
    tops = dict.fromkeys(folder.parent if folder.name == "until.json" else folder for folder in folders)
    return [decision for folder in tops if (decision := read_decision(folder)) is not None]


def decision_tables(made: Sequence[Decision]) -> list[Table]:
    """Return one table of these decisions, or no table if there are none."""
    return table_of("until", "Decided early", _COLUMNS, made, (_METHOD, BIASED))


def _step(step: Step) -> str:
    return f"{step.task}:{step.difference:+.4f}:{step.e_value:.4g}"
