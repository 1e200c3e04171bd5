"""One row a model over all families: its headline figure in each, their unweighted mean, and which rank that may be.

1. A family is one stratum of weight 1/F, whatever its number of tasks. Its figure is the mean over tasks of what its paper
   ranks by. Episodes under other conditions than the paper's leaderboard (a hidden profile told in full) are left out.
2. Only rows that have graded episodes at every task of every family are ranked, so all ranks are of the same tasks. The tasks
   of a family are those of the row that has most.
3. Published rows are references without a rank: other tasks, another harness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from harness.caveats import Bounds, bounds_of, ungraded_by
from harness.errors import UsageError
from harness.headline import cell_means, headline_of
from harness.records import Result
from harness.release import pinned_tasks
from harness.report.causes import bounds_columns, cells_of
from harness.report.evidence import Evidence, Group
from harness.report.power import mde_words
from harness.report.ranking import Strata, rank_intervals, rank_shares, weighted
from harness.report.reliability import pass_k
from harness.report.statistics import Interval, share_interval
from harness.report.table import Column, Row, Table, Value

_INTERFACES = frozenset({"shell", "tool", "text"})
"""How a model acts outside of games; games have one interface, so it makes no other row."""

_LIKELY = (1, 3)
"""The r of P(rank <= r) that are shown."""

PUBLISHED = "published"
METHOD = (
    "mean: families weigh the same; 95 % intervals cluster by task; ranks: all intervals hold at once with 95 %, by "
    "simultaneous paired differences (Mogstad et al. 2024); P: the share of 4,000 resamples of the tasks, the same for all rows"
)


@dataclass
class Entrant:
    """One model under one set-up, in every family that it played."""

    title: str
    how: tuple[str, ...]
    groups: dict[str, Group] = field(default_factory=dict)

    def results(self, family: str) -> list[Result]:
        """Its graded episodes that count for the leaderboard of a family."""
        ranks = headline_of(family).ranks
        return [result for result in self.groups[family].graded if ranks(result)]

    def tasks(self, family: str) -> dict[str, float]:
        """The figure of each task of a family."""
        by_task: dict[str, list[float]] = {}
        if family in self.groups:
            for (task, _), value in cell_means(self.results(family), headline_of(family)).items():
                by_task.setdefault(task, []).append(value)
        return {task: fmean(values) for task, values in by_task.items()}


def entrants(evidence: Sequence[Evidence]) -> list[Entrant]:
    """The rows; raises UsageError where a model was played in two ways that one row cannot hold."""
    rows: dict[tuple[str, str | None, tuple[str, ...]], Entrant] = {}
    for family in evidence:
        for group in family.played:
            if group.graded and not any(map(headline_of(family.family).ranks, group.graded)):
                continue
            how = tuple(word for word in group.setup.how if word not in _INTERFACES)
            row = rows.setdefault((group.setup.agent, group.setup.model, how), Entrant(group.title, how))
            if (other := row.groups.get(family.family)) is not None:
                raise UsageError(
                    f"{family.family} was played by {other.name} and by {group.name}, and a model has one row",
                    hint="harness leaderboard with one of the two runs",
                )
            row.groups[family.family] = group
    return list(rows.values())


def board(evidence: Sequence[Evidence], *, published: bool) -> Table:
    """The leaderboard over these families; raises UsageError where nothing is graded."""
    rows = [row for row in entrants(evidence) if any(row.tasks(family) for family in row.groups)]
    if not rows:
        raise UsageError("no graded episode here", hint="harness run --yes --model NAME")
    families = [one.family for one in evidence if any(row.tasks(one.family) for row in rows)]
    wanted = {family: _widest(rows, family) for family in families}
    whole = [row for row in rows if all(wanted[family] <= row.tasks(family).keys() for family in families)]
    strata: Strata = [
        np.array([[row.tasks(family)[task] for task in sorted(wanted[family])] for row in whole]) for family in families
    ]
    spans = rank_intervals(strata) if whole else []
    shares = rank_shares(strata) if whole else np.zeros((0, 0))
    ranked = [
        {**_row(row, families, wanted), "ranks": f"{span[0]}-{span[1]}" if span[0] < span[1] else str(span[0]),
         "first_rank": span[0], "last_rank": span[1],
         **{f"p{r}": float(share[min(r, len(whole)) - 1]) for r in _LIKELY}}
        for row, span, share in zip(whole, spans, shares, strict=True)
    ]  # fmt: skip
    ranked.sort(key=_best_first)
    scores = [_score(row) for row in ranked]
    numbered = [
        {**row, "rank": 1 + sum(other > score + 1e-12 for other in scores)} for row, score in zip(ranked, scores, strict=True)
    ]
    rest = sorted((_row(row, families, wanted) for row in rows if row not in whole), key=_best_first)
    theirs = list(_published(families)) if published else []
    notes = (METHOD, *_notes(rows, families, wanted, published=published))
    return Table("leaderboard", "Leaderboard over families", _columns(families), (*numbered, *rest, *theirs), notes)


def _columns(families: Sequence[str]) -> tuple[Column, ...]:
    each = [
        column
        for family in families
        for column in (
            Column(family, f"{family} {headline_of(family).short}", "percent"),
            Column(f"{family}_interval", "95 %", "interval"),
            Column(f"{family}_pass_k", "pass^k", "rate"),
            Column(f"{family}_bounds", f"{family} if ungraded failed..succeeded", "interval", shown=False),
            Column(f"{family}_tasks", f"{family}, tasks", shown=False),
        )
    ]
    return (
        Column("rank", "Rank"),
        Column("ranks", "Ranks 95 %"),
        Column("model", "Model"),
        Column("setup", "Set-up"),
        Column("mean", "Mean", "percent"),
        Column("interval", "95 %", "interval"),
        *each,
        Column("p1", "P(first)", "rate"),
        Column("p3", "P(top 3)", "rate"),
        Column("episodes", "Eps"),
        Column("ungraded", "Ungraded"),
        *bounds_columns("Mean"),
        Column("status", "Status"),
        Column("source", "Source", shown=False),
        Column("error", "Standard error", "number", shown=False),
        Column("first_rank", "First rank", shown=False),
        Column("last_rank", "Last rank", shown=False),
    )


def _widest(rows: Sequence[Entrant], family: str) -> frozenset[str]:
    """The tasks of the row that has most."""
    by_row = [frozenset(row.tasks(family)) for row in rows]
    return max(by_row, key=len)


def _whole(family: str, played: frozenset[str]) -> frozenset[str]:
    """The tasks that complete means: those of the release, or all that somebody played where none is of it."""
    pinned = frozenset(pinned_tasks(family))
    return pinned if pinned & played else played


def _row(row: Entrant, families: Sequence[str], wanted: Mapping[str, frozenset[str]]) -> dict[str, Value]:
    mine = [family for family in families if row.tasks(family)]
    episodes = sum(len(row.results(family)) for family in mine)
    figure = weighted([list(row.tasks(family).values()) for family in mine], episodes)
    is_whole = len(mine) == len(families)
    lost = [result for family in mine for result in row.groups[family].ungraded]
    graded = [result for family in mine for result in row.results(family)]
    each = [_bounds(row, family) for family in mine]
    whole_bounds = Bounds(*(fmean(one[end] for one in each) for end in (0, 1)), ungraded_by(lost), len(lost)) if lost else None
    whole = {family: _whole(family, wanted[family]) for family in families}
    lacking = [f"{len(row.tasks(family))} of {len(whole[family])} {family}" for family in families
               if whole[family] - row.tasks(family).keys()]  # fmt: skip
    interval: Interval | None = figure.interval
    return {
        "model": row.title,
        "setup": ", ".join(row.how) or None,
        "mean": figure.mean if is_whole else None,
        "interval": interval if is_whole else None,
        "error": figure.error if is_whole else None,
        **{key: value for family in mine for key, value in _family(row, family).items()},
        "episodes": episodes,
        "ungraded": len(lost),
        **cells_of(whole_bounds if is_whole else None, graded, lost),
        "status": "complete" if not lacking else ", ".join(lacking),
        "source": "ours",
    }


def _family(row: Entrant, family: str) -> dict[str, Value]:
    values, results = row.tasks(family), row.results(family)
    cells: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        cells.setdefault((result.task_id, result.seed), []).append(result)
    return {
        family: fmean(values.values()),
        f"{family}_interval": share_interval([[value] for value in values.values()], len(results)),
        f"{family}_pass_k": pass_k(cells.values(), row.groups[family].attempts),
        f"{family}_bounds": _bounds(row, family) if row.groups[family].ungraded else None,
        f"{family}_tasks": len(values),
    }


def _bounds(row: Entrant, family: str) -> tuple[float, float]:
    """Return the mean over tasks if every ungraded episode had failed, and if every one had succeeded."""
    value = headline_of(family).value
    bounds = bounds_of(row.results(family), row.groups[family].ungraded, value, lambda one: one.task_id)
    return (bounds.failed, bounds.succeeded) if bounds else (fmean(row.tasks(family).values()),) * 2


def _published(families: Sequence[str]) -> Iterator[Row]:
    """The papers' figures, one row a model however the papers spell it."""
    rows: dict[str, dict[str, Value]] = {}
    for family in families:
        for figure in headline_of(family).published():
            row = rows.setdefault(figure.model.lower().replace("-", " "), {"model": figure.model, "status": PUBLISHED})
            row |= {family: figure.value, "source": PUBLISHED}
    yield from sorted(rows.values(), key=lambda row: [-_number(row.get(family)) for family in families])


def _notes(
    rows: Sequence[Entrant], families: Sequence[str], wanted: Mapping[str, frozenset[str]], *, published: bool
) -> Iterator[str]:
    for family in families:
        groups = [row.groups[family] for row in rows if family in row.groups]
        attempts = min(max(1, len(group.seeds)) * group.attempts for group in groups)
        yield f"{family}: {headline_of(family).title}; {mde_words(len(wanted[family]), attempts)}"
        if len({frozenset(group.seeds) for group in groups}) > 1:
            yield f"{family}: rows were played at different seeds, so they are of different instances"
        if any(len({group.planned[task] for group in groups if task in group.planned}) > 1 for task in wanted[family]):
            yield f"{family}: rows were played on different versions of some tasks"
    short = [family for family in families if _whole(family, wanted[family]) - wanted[family]]
    if short:
        yield f"ranks are among these rows, on the tasks that they played: not all of the release in {' and '.join(short)}"
    if published:
        yield from (f"{family}, {headline_of(family).source}" for family in families if headline_of(family).source)


def _best_first(row: Mapping[str, Value]) -> tuple[float, str]:
    return -_score(row), str(row["model"])


def _score(row: Mapping[str, Value]) -> float:
    return _number(row["mean"])


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else -1.0
