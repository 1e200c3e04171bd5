"""A whole report as data: the tables of every family in some runs, their figures, and the usage of the runs.

Renderers for the terminal, Markdown, JSON, CSV and HTML use only this data. The table of difficulty shows each player's success
and reward by level, for any family. Level 1 is the default, so a run without a level is at level 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import ModuleType
from typing import Any

from harness.errors import UsageError, quoted
from harness.frames import grouped
from harness.headline import setup_caveat
from harness.plugins import family_part, family_part_or_none
from harness.records import Result
from harness.registry import Task
from parley.reports import causes, spent
from parley.reports.evidence import ALL, Breadth, Evidence, Run, empty, gather
from parley.reports.table import Column, Table, row_of, table_of, titled
from parley.statistics import METHOD, rate_interval


def _mean_reward(graded: Sequence[Result]) -> float | None:
    return sum(result.reward or 0.0 for result in graded) / len(graded) if graded else None


def _by_task(graded: Sequence[Result]) -> list[list[bool]]:
    tasks = grouped(graded, lambda result: result.task_id).values()
    return [[result.success for result in mine] for mine in tasks]


LEVELS = "levels"
_LEVELS_NEED = ("one player at two levels", "harness run ... --set level=1..4")
_LEVEL_COLUMNS = (
    *titled(player="Player", setup="Set-up", level="Level"),
    Column("tasks", "Tasks", of=lambda graded: len(_by_task(graded))),
    Column("episodes", "Eps", of=len),
    Column("passed", "Pass", of=lambda graded: sum(result.success for result in graded)),
    Column("rate", "SR %", "percent", of=lambda graded: fmean(result.success for result in graded) if graded else None),
    Column("interval", "95 %", "interval", of=lambda graded: rate_interval(_by_task(graded))),
    Column("reward", "Reward", "rate", of=_mean_reward),
    Column("ungraded", "Ungraded"),
)


def level_tables(evidence: Evidence) -> list[Table]:
    """Return one table, or no table if no player was run at two levels."""
    curves: dict[tuple[str, str], dict[int, tuple[list[Result], int]]] = {}
    for group in evidence.played:
        how = ", ".join(word for word in group.setup.how if not word.startswith("level="))
        graded, lost = grouped(group.graded, _level), Counter(map(_level, group.ungraded))
        points = {level: (graded.get(level, []), lost[level]) for level in graded.keys() | lost.keys()}
        curves.setdefault((group.title, how), {}).update(points)
    rows = [
        {"player": player, "setup": how or None, "level": level, **row_of(_LEVEL_COLUMNS, graded), "ungraded": lost}
        for (player, how), points in curves.items()
        if len(points) > 1
        for level, (graded, lost) in sorted(points.items())
    ]
    title = f"Curves of difficulty, {evidence.family}"
    return table_of(LEVELS, title, _LEVEL_COLUMNS, rows, ("level 1 is the default", METHOD))


def _level(result: Result) -> int:
    level = result.options.get("level", 1)
    return int(level) if isinstance(level, int | str) and str(level).isdecimal() else 1


_OWN: Mapping[str, tuple[Callable[[Evidence], list[Table]], tuple[str, str]]] = {
    LEVELS: (level_tables, _LEVELS_NEED),
    causes.NAME: (causes.tables, causes.NEEDED),
}
"""Tables of any family, with what each needs and the command that provides it."""


@dataclass(frozen=True)
class FamilyReport:
    """The tables of one family."""

    family: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class WholeReport:
    """The data of a report."""

    runs: tuple[Run, ...]
    sections: tuple[FamilyReport, ...]
    spent: Table
    silent: tuple[str, ...]
    """Messages about families that define no report."""

    closes: bool
    """True if no table was named; in this case, `spent` is the end of the report."""

    is_asked: bool
    """True if `spent` is among the named tables."""

    decided: tuple[Table, ...] = ()
    """Tables of runs that stopped early because a winner was clear."""

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
        """Every table, with `spent` at the end if no table was named."""
        return [*self.tables, *([self.spent] if self.closes else [])]

    @property
    def caveats(self) -> list[str]:
        """Caveats to print first."""
        return caveats(self.runs)

    def document(self) -> dict[str, Any]:
        """Return the report for programs."""
        runs = [str(run.path) for run in self.runs]
        return {"runs": runs, "caveats": self.caveats, "tables": [table.document() for table in self.closed]}


def caveats(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each run in which the set-up was at fault in more than 10 % of the episodes."""
    return [f"{run.path.name}: {caveat}" for run in runs if (caveat := setup_caveat(run.results))]


def refuse_unfinished(runs: Sequence[Run]) -> None:
    """Raise UsageError if no episode of these runs is finished."""
    if not any(run.results for run in runs):
        hint = f"the run's command again, with --resume {quoted(runs[0].path)}"
        raise UsageError("these runs have no finished episode", hint=hint)


def make_report(
    runs: Sequence[Run],
    tasks: Sequence[Task],
    wanted: Sequence[str],
    *,
    published: bool,
    breadth: Breadth,
    decided: Sequence[Table] = (),
) -> WholeReport:
    """Return the `wanted` tables of every family in these runs. If none is named, return every table that is not empty.

    Raises UsageError if no episode is finished, and for a named table that no family has or can fill.
    """
    played = list(dict.fromkeys(result.family for run in runs for result in run.results))
    refuse_unfinished(runs)
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
            # the error of an empty table is more helpful than that of a family without such a table
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
    """Return the reports of each family, and messages about families without one; raise UsageError if none has a report."""
    reports = {family: family_part_or_none(family, "report") for family in played}
    makers = {family: maker for family, maker in reports.items() if maker is not None}
    lacking = tuple(f"the family {family!r} does not define a report" for family in played if family not in makers)
    if not makers:
        family_part(played[0], "report")
    return makers, lacking
