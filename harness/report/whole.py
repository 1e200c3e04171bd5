"""A whole report as data: the tables of every family in some runs, their figures, and what the runs took.

How it looks - on a terminal, as Markdown, JSON, CSV or a page - is decided afterwards, from this alone.

Difficulty curves: each player's success and reward by level, of runs with `--set level=1..4`. One table for any family. Level 1
is the default, so a run that names no level is of it. A curve needs two levels under otherwise the same conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import ModuleType
from typing import Any

from harness.errors import UsageError, quoted
from harness.headline import setup_caveat
from harness.modules import family_part, family_part_or_none
from harness.records import Result
from harness.registry import Task
from harness.report import causes, spent
from harness.report.evidence import ALL, Breadth, Evidence, Run, empty, gather
from harness.report.statistics import METHOD, rate_interval
from harness.report.table import Column, Table, row_of, titled


def _mean_reward(graded: Sequence[Result]) -> float | None:
    return sum(result.reward or 0.0 for result in graded) / len(graded) if graded else None


def _by_task(graded: Sequence[Result]) -> dict[str, list[bool]]:
    tasks: dict[str, list[bool]] = {}
    for result in graded:
        tasks.setdefault(result.task_id, []).append(result.success)
    return tasks


LEVELS = "levels"
_LEVELS_NEED = ("one player at two levels", "harness run ... --set level=1..4")
_LEVEL_COLUMNS = (
    *titled(player="Player", setup="Set-up", level="Level"),
    Column("tasks", "Tasks", of=lambda graded: len(_by_task(graded))),
    Column("episodes", "Eps", of=len),
    Column("passed", "Pass", of=lambda graded: sum(result.success for result in graded)),
    Column("rate", "SR %", "percent", of=lambda graded: fmean(result.success for result in graded) if graded else None),
    Column("interval", "95 %", "interval", of=lambda graded: rate_interval(list(_by_task(graded).values()))),
    Column("reward", "Reward", "rate", of=_mean_reward),
    Column("ungraded", "Ungraded"),
)


def level_tables(evidence: Evidence) -> list[Table]:
    """One table; none where nobody was met at two levels."""
    curves: dict[tuple[str, str], dict[int, tuple[list[Result], int]]] = {}
    for group in evidence.played:
        how = ", ".join(word for word in group.setup.how if not word.startswith("level="))
        for level in {_level(result) for result in (*group.graded, *group.ungraded)}:
            graded = [result for result in group.graded if _level(result) == level]
            lost = sum(_level(result) == level for result in group.ungraded)
            curves.setdefault((group.title, how), {})[level] = (graded, lost)
    rows = [
        {
            "player": player,
            "setup": how or None,
            "level": level,
            **row_of(_LEVEL_COLUMNS, points[level][0]),
            "ungraded": points[level][1],
        }
        for (player, how), points in curves.items()
        if len(points) > 1
        for level in sorted(points)
    ]
    title = f"Curves of difficulty, {evidence.family}"
    return [Table(LEVELS, title, _LEVEL_COLUMNS, tuple(rows), ("level 1 is the default", METHOD))] if rows else []


def _level(result: Result) -> int:
    level = result.options.get("level", 1)
    return int(level) if isinstance(level, int | str) and str(level).isdecimal() else 1


_OWN: Mapping[str, tuple[Callable[[Evidence], list[Table]], tuple[str, str]]] = {
    LEVELS: (level_tables, _LEVELS_NEED),
    causes.NAME: (causes.tables, causes.NEEDED),
}
"""Tables of any family, with what they lack where they are empty and the command that makes it."""


@dataclass(frozen=True)
class FamilyReport:
    """What a report has of one family."""

    family: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class WholeReport:
    """What a report says."""

    runs: tuple[Run, ...]
    sections: tuple[FamilyReport, ...]
    spent: Table
    silent: tuple[str, ...]
    """Of families without reports, what to say."""

    closes: bool
    """Whether no table was named: then `spent` closes the report."""

    is_asked: bool
    """Whether `spent` is among the tables that were named."""

    decided: tuple[Table, ...] = ()
    """Of runs that stopped once it was clear who is better."""

    @property
    def tables(self) -> list[Table]:
        """Every table, in order."""
        return [
            *self.decided,
            *(table for section in self.sections for table in section.tables),
            *([self.spent] if self.is_asked else []),
        ]

    @property
    def closed(self) -> list[Table]:
        """Every table, and `spent` at the end where no table was named."""
        return [*self.tables, *([self.spent] if self.closes else [])]

    @property
    def caveats(self) -> list[str]:
        """What has to be said first: the runs in which the set-up was at fault in more than 10 % of the episodes."""
        told = ((run.path.name, setup_caveat(run.results)) for run in self.runs)
        return [f"{name}: {caveat}" for name, caveat in told if caveat]

    def document(self) -> dict[str, Any]:
        """The report for programs."""
        runs = [str(run.path) for run in self.runs]
        return {"runs": runs, "caveats": self.caveats, "tables": [table.document() for table in self.closed]}


def make_report(
    runs: Sequence[Run],
    tasks: Sequence[Task],
    wanted: Sequence[str],
    *,
    published: bool,
    breadth: Breadth,
    decided: Sequence[Table] = (),
) -> WholeReport:
    """The wanted tables of every family in these runs, or all that have something to say.

    Raises UsageError where no episode is finished, and for a named table that no family here has or can fill.
    """
    played = list(dict.fromkeys(result.family for run in runs for result in run.results))
    if not played:
        raise UsageError(
            "these runs have no finished episode", hint=f"the run's command again, with --resume {quoted(runs[0].path)}"
        )
    makers, silent = _makers(played)
    evidence = {family: gather(runs, family, tasks, breadth) for family in makers}
    made: dict[str, list[Table]] = {family: [] for family in makers}
    for names in [[name] for name in wanted if name not in {*_OWN, spent.NAME}] or ([] if wanted else [[]]):
        refused = []
        for family, maker in makers.items():
            try:
                made[family] += maker.report(evidence[family], names, published=published)
            except UsageError as error:
                refused.append(error)
        if len(refused) == len(makers):
            # one that is empty says more than one that a family does not know
            raise max(refused, key=lambda error: error.hint is not None)
    for name, (tables, need) in _OWN.items():
        more = {family: tables(evidence[family]) for family in makers if not wanted or {name, ALL} & set(wanted)}
        if name in wanted and not any(more.values()):
            raise empty(name, need, [group for one in evidence.values() for group in one.played])
        for family, some in more.items():
            made[family] += some
    sections = tuple(FamilyReport(family, tuple(some)) for family, some in made.items() if some)
    return WholeReport(tuple(runs), sections, spent.table(runs), silent, not wanted, spent.NAME in wanted, tuple(decided))


def _makers(played: Sequence[str]) -> tuple[dict[str, ModuleType], tuple[str, ...]]:
    """The reports of each family; what lacks them is said, unless there is nothing else."""
    reports = {family: family_part_or_none(family, "report") for family in played}
    makers = {family: maker for family, maker in reports.items() if maker is not None}
    lacking = tuple(f"the family {family!r} has no report" for family in played if family not in makers)
    if not makers:
        family_part(played[0], "report")
    return makers, lacking
