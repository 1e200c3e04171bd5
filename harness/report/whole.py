"""A whole report as data: the tables of every family in some runs, their figures, and what the runs took.

How it looks - on a terminal, as Markdown, JSON, CSV or a page - is decided afterwards, from this alone.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.caveats import setup_caveat
from harness.errors import UsageError, quoted
from harness.modules import family_part, family_part_or_none
from harness.registry import Task
from harness.report import causes, levels, spent
from harness.report.catalogue import ALL, empty
from harness.report.evidence import Breadth, Run, gather
from harness.report.table import Table

_OWN = (levels.NAME, causes.NAME, spent.NAME)
"""Tables of any family."""


@dataclass(frozen=True)
class Figure:
    """A picture, and the tables that it was drawn from."""

    svg: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class FamilyReport:
    """What a report has of one family."""

    family: str
    tables: tuple[Table, ...]
    figures: Mapping[str, Figure]


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

    @property
    def figures(self) -> dict[str, str]:
        """Each figure, by family and name."""
        return {f"{one.family}-{name}": drawn.svg for one in self.sections for name, drawn in one.figures.items()}

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
    for names in [[name] for name in wanted if name not in _OWN] or ([] if wanted else [[]]):
        refused = []
        for family, maker in makers.items():
            try:
                made[family] += maker.report(evidence[family], names, published=published)
            except UsageError as error:
                refused.append(error)
        if len(refused) == len(makers):
            # one that is empty says more than one that a family does not know
            raise max(refused, key=lambda error: error.hint is not None)
    for module in (levels, causes):
        more = {family: module.tables(evidence[family]) for family in makers if not wanted or {module.NAME, ALL} & set(wanted)}
        if module.NAME in wanted and not any(more.values()):
            raise empty(module.NAME, module.NEEDED, [group for one in evidence.values() for group in one.played])
        for family, some in more.items():
            made[family] += some
    sections = tuple(FamilyReport(family, tuple(some), _figures(family, some)) for family, some in made.items() if some)
    return WholeReport(tuple(runs), sections, spent.table(runs), silent, not wanted, spent.NAME in wanted, tuple(decided))


def _makers(played: Sequence[str]) -> tuple[dict[str, ModuleType], tuple[str, ...]]:
    """The reports of each family; what lacks them is said, unless there is nothing else."""
    reports = {family: family_part_or_none(family, "report") for family in played}
    makers = {family: maker for family, maker in reports.items() if maker is not None}
    lacking = tuple(f"the family {family!r} has no report" for family in played if family not in makers)
    if not makers:
        family_part(played[0], "report")
    return makers, lacking


def _figures(family: str, tables: Sequence[Table]) -> dict[str, Figure]:
    """Each figure that these tables have what it needs for."""
    by_name = {table.name: table for table in tables}
    part = family_part_or_none(family, "figure")
    drawers = {**(part.FIGURES if part else {}), levels.NAME: levels.figure}
    drawn = {}
    for name, draw in drawers.items():
        watched = _Watched(by_name)
        if (svg := draw(watched)) is not None:
            drawn[name] = Figure(svg, tuple(watched.read))
    return drawn


class _Watched(UserDict[str, Table]):
    """Tables by name that remember which of them were read."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Table:
        """The table, noted."""
        table = super().__getitem__(name)
        self.read[name] = None
        return table
