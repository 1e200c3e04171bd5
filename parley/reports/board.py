"""The leaderboard over all families, and confidence intervals of its ranks (docs/statistics.md).

A row has a model's headline figure in each family, the unweighted mean of these figures, and the rank interval. Only rows with
graded episodes on every task of every family are ranked, so all ranks refer to the same tasks; published rows have no rank. A
mean's interval is Wilson's at the sample size that corresponds to its error, with t at Satterthwaite's degrees of freedom. Rank
intervals are those of Mogstad, Romano, Shaikh and Wilhelm 2024 (Review of Economic Studies 91(1)), with the simultaneous
quantile of Hothorn, Bretz and Westfall 2008.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.errors import UsageError
from harness.frames import grouped
from harness.headline import PublishedHeadline, headline_of, task_means
from harness.plugins import load
from harness.records import Result
from parley.caveats import bounds_of
from parley.reports.causes import bounds_columns, cells_of
from parley.reports.evidence import Evidence, Group, pass_k
from parley.reports.table import Column, Row, Table, Value, titled
from parley.sharing.release import pinned_tasks
from parley.statistics import Interval, exact_interval, mde_words, share_interval, student, wilson_interval

DRAWS, SEED, ALPHA = 4_000, 20, 0.05

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Strata = Sequence[Floats]
"""For each family, an array of models x tasks: the mean of each model on each task."""


class Weighted(NamedTuple):
    """A mean over families, with its standard error under the same weights."""

    mean: float
    error: float | None
    """None if a family has only one task."""

    interval: Interval | None


def weighted(strata: Sequence[Sequence[float]], trials: int) -> Weighted:
    """Return a model's mean over families, in 0..1, from its task means in each family and its number of episodes.

    The interval is Wilson's at the effective sample size that corresponds to the error, at most `trials`.
    """
    values = [np.asarray(tasks, dtype=np.float64) for tasks in strata]
    mean, fewest = float(np.mean([tasks.mean() for tasks in values])), min(map(len, values))
    if fewest < 2:
        return Weighted(mean, None, None)
    parts = np.array([tasks.var(ddof=1) / len(tasks) for tasks in values]) / len(values) ** 2
    error = float(np.sqrt(parts.sum()))
    if not error:
        whole = mean in {0.0, 1.0}
        return Weighted(mean, error, exact_interval(fewest * int(mean), fewest) if whole else None)
    degrees = float(parts.sum() ** 2 / sum(part**2 / (len(tasks) - 1) for part, tasks in zip(parts, values, strict=True)))
    effective = min(trials, mean * (1 - mean) / error**2)
    return Weighted(mean, error, wilson_interval(mean, student(degrees) ** 2 / effective))


def rank_intervals(strata: Strata) -> list[tuple[int, int]]:
    """Return the first and last possible rank of each model; all intervals hold jointly with 95 % confidence."""
    models = len(strata[0])
    if any(tasks.shape[1] < 2 for tasks in strata):
        return [(1, models)] * models
    better = surely_better(strata)
    return [(1 + int(better[:, model].sum()), models - int(better[model].sum())) for model in range(models)]


def surely_better(strata: Strata) -> Flags:
    """Return a matrix: is the row's model significantly better than the column's, at a level that holds for all pairs."""
    means: Floats = np.asarray(np.mean([tasks.mean(axis=1) for tasks in strata], axis=0), dtype=np.float64)
    gaps = means[:, None] - means[None, :]
    covariance = sum(np.cov(tasks, ddof=1).reshape(len(means), -1) / tasks.shape[1] for tasks in strata) / len(strata) ** 2
    spread = np.diag(covariance)
    errors = np.sqrt(np.clip(spread[:, None] + spread[None, :] - 2 * covariance, 0.0, None))
    known = errors > 1e-9
    quantile = _largest_t(covariance, errors, known, min(tasks.shape[1] for tasks in strata) - 1)
    studied = np.divide(gaps, errors, out=np.zeros_like(gaps), where=known)
    return np.asarray((studied > quantile) | _constant(strata, gaps, known), dtype=np.bool_)


def rank_shares(strata: Strata) -> Floats:
    """Return the share of resamples in which a model's rank is at most 1, 2, ...; one row per model."""
    rng = np.random.default_rng(SEED)
    models = len(strata[0])
    means = np.zeros((DRAWS, models))
    for tasks in strata:
        picks = rng.integers(0, tasks.shape[1], size=(DRAWS, tasks.shape[1]))
        counts = np.apply_along_axis(np.bincount, 1, picks, minlength=tasks.shape[1])
        means += counts @ tasks.T / tasks.shape[1] / len(strata)
    means = np.round(means, 9) + rng.uniform(0, 1e-10, size=means.shape)
    ranks = (-means).argsort(axis=1).argsort(axis=1)
    return np.stack([(ranks <= rank).mean(axis=0) for rank in range(models)], axis=1)


def _largest_t(covariance: Floats, errors: Floats, known: Flags, degrees: int) -> float:
    """Return the 95 % quantile of the largest |t| over all pairs."""
    if not known.any():
        return np.inf
    rng = np.random.default_rng(SEED)
    values, vectors = np.linalg.eigh(covariance)
    drawn = rng.standard_normal((DRAWS, len(values))) * np.sqrt(np.clip(values, 0.0, None)) @ vectors.T
    drawn /= np.sqrt(rng.chisquare(degrees, size=(DRAWS, 1)) / degrees)
    first, second = np.nonzero(np.triu(known))
    largest = np.abs((drawn[:, first] - drawn[:, second]) / errors[first, second]).max(axis=1)
    return float(np.quantile(largest, 1 - ALPHA))


def _constant(strata: Strata, gaps: Floats, known: Flags) -> Flags:
    """Return the pairs with a constant difference over tasks, significant by the sign-flip test at Bonferroni's level."""
    tasks, models = sum(one.shape[1] for one in strata), len(gaps)
    enough = 2.0 ** (1 - tasks) <= ALPHA / max(1, models * (models - 1) / 2)
    return np.asarray((gaps > 1e-9) & ~known & enough, dtype=np.bool_)


_INTERFACES = frozenset({"shell", "tool", "text"})
"""Interfaces of agents outside games. Games have a single interface, so an interface does not make a separate row."""

_LIKELY = (1, 3)
"""The values of r for which P(rank <= r) is shown."""

PUBLISHED = "published"
METHOD = (
    "mean: all families have the same weight; 95 % intervals are clustered by task; ranks: all intervals hold together with "
    "95 % confidence, by simultaneous paired differences (Mogstad et al. 2024); P: share of 4,000 resamples of the tasks, "
    "which are the same for all rows"
)


@dataclass
class BoardRow:
    """A model under one set-up, in every family that it played."""

    title: str
    how: tuple[str, ...]
    groups: dict[str, Group] = field(default_factory=dict)

    def results(self, family: str) -> list[Result]:
        """Return the graded episodes that count for the leaderboard of a family."""
        ranks = headline_of(family).ranks
        return [result for result in self.groups[family].graded if ranks(result)]

    def tasks(self, family: str) -> dict[str, float]:
        """Return the figure of each task of a family."""
        return task_means(self.groups[family].graded, headline_of(family)) if family in self.groups else {}


def entrants(evidence: Sequence[Evidence]) -> list[BoardRow]:
    """Return the rows. Raises UsageError if a model was played in two set-ups that do not fit into one row."""
    rows: dict[tuple[str, str | None, tuple[str, ...]], BoardRow] = {}
    for family in evidence:
        for group in family.played:
            if group.graded and not any(map(headline_of(family.family).ranks, group.graded)):
                continue
            how = tuple(word for word in group.setup.how if word not in _INTERFACES)
            row = rows.setdefault((group.setup.agent, group.setup.model, how), BoardRow(group.title, how))
            if (other := row.groups.get(family.family)) is not None:
                raise UsageError(
                    f"{family.family} was played by {other.name} and by {group.name}, but a model has only one row",
                    hint="harness leaderboard with one of the two runs",
                )
            row.groups[family.family] = group
    return list(rows.values())


def board(evidence: Sequence[Evidence], *, published: bool) -> Table:
    """Return the leaderboard over these families. Raises UsageError if no episode is graded."""
    rows = [row for row in entrants(evidence) if any(row.tasks(family) for family in row.groups)]
    if not rows:
        raise UsageError("these runs have no graded episode", hint="harness run --yes --model NAME")
    families = [one.family for one in evidence if any(row.tasks(one.family) for row in rows)]
    wanted = {family: max((frozenset(row.tasks(family)) for row in rows), key=len) for family in families}
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
    scores = [_number(row["mean"]) for row in ranked]
    numbered = [{**row, "rank": 1 + sum(other > _number(row["mean"]) + 1e-12 for other in scores)} for row in ranked]
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
        *titled(rank="Rank", ranks="Ranks 95 %", model="Model", setup="Set-up"),
        Column("mean", "Mean", "percent"),
        Column("interval", "95 %", "interval"),
        *each,
        *titled("rate", p1="P(first)", p3="P(top 3)"),
        *titled(episodes="Eps", ungraded="Ungraded"),
        *bounds_columns("Mean"),
        Column("status", "Status"),
        Column("source", "Source", shown=False),
        Column("error", "Standard error", "number", shown=False),
        *titled(first_rank="First rank", last_rank="Last rank", shown=False),
    )


def _whole(family: str, played: frozenset[str]) -> frozenset[str]:
    """Return the tasks of a complete row: the tasks of the release, or all played tasks if none of these is in the release."""
    pinned = frozenset(pinned_tasks(family))
    return pinned if pinned & played else played


def _row(row: BoardRow, families: Sequence[str], wanted: Mapping[str, frozenset[str]]) -> dict[str, Value]:
    mine = [family for family in families if row.tasks(family)]
    episodes = sum(len(row.results(family)) for family in mine)
    figure = weighted([list(row.tasks(family).values()) for family in mine], episodes)
    is_whole = len(mine) == len(families)
    lost = [result for family in mine for result in row.groups[family].ungraded]
    graded = [result for family in mine for result in row.results(family)]
    each = [_bounds(row, family) for family in mine]
    bounds = (fmean(low for low, _ in each), fmean(high for _, high in each)) if is_whole and lost else None
    whole = {family: _whole(family, wanted[family]) for family in families}
    lacking = [f"{len(row.tasks(family))} of {len(whole[family])} {family}" for family in families
               if whole[family] - row.tasks(family).keys()]  # fmt: skip
    return {
        "model": row.title,
        "setup": ", ".join(row.how) or None,
        **(figure._asdict() if is_whole else {"mean": None}),
        **{key: value for family in mine for key, value in _family(row, family).items()},
        "episodes": episodes,
        "ungraded": len(lost),
        **cells_of(bounds, graded, lost),
        "status": "complete" if not lacking else ", ".join(lacking),
        "source": "ours",
    }


def _family(row: BoardRow, family: str) -> dict[str, Value]:
    values, results = row.tasks(family), row.results(family)
    cells = grouped(results, lambda result: (result.task_id, result.seed))
    return {
        family: fmean(values.values()),
        f"{family}_interval": share_interval([[value] for value in values.values()], len(results)),
        f"{family}_pass_k": pass_k(cells.values(), row.groups[family].attempts),
        f"{family}_bounds": _bounds(row, family) if row.groups[family].ungraded else None,
        f"{family}_tasks": len(values),
    }


def _bounds(row: BoardRow, family: str) -> tuple[float, float]:
    """Return the mean over tasks if every ungraded episode had failed, and if every one had succeeded."""
    value = headline_of(family).value
    bounds = bounds_of(row.results(family), row.groups[family].ungraded, value, lambda one: one.task_id)
    return (bounds.failed, bounds.succeeded) if bounds else (fmean(row.tasks(family).values()),) * 2


def published_headline(family: str) -> PublishedHeadline:
    """Return the published values of a family's headline figure, which may be none."""
    entry = headline_of(family).published
    made: PublishedHeadline = load(entry)() if entry else PublishedHeadline({}, "")
    return made


def _published(families: Sequence[str]) -> Iterator[Row]:
    """Yield the figures published in papers, one row per model regardless of each paper's spelling of its name."""
    rows: dict[str, dict[str, Value]] = {}
    for family in families:
        for model, value in published_headline(family).figures.items():
            row = rows.setdefault(model.lower().replace("-", " "), {"model": model, "status": PUBLISHED})
            row |= {family: value, "source": PUBLISHED}
    yield from sorted(rows.values(), key=lambda row: [-_number(row.get(family)) for family in families])


def _notes(
    rows: Sequence[BoardRow], families: Sequence[str], wanted: Mapping[str, frozenset[str]], *, published: bool
) -> Iterator[str]:
    for family in families:
        groups = [row.groups[family] for row in rows if family in row.groups]
        attempts = min(max(1, len(group.seeds)) * group.attempts for group in groups)
        yield f"{family}: {headline_of(family).title}; {mde_words(len(wanted[family]), attempts)}"
        if headline_of(family).meaning:
            yield headline_of(family).meaning
        if len({frozenset(group.seeds) for group in groups}) > 1:
            yield f"{family}: the rows have different seeds, so they played different instances"
        if any(len({group.planned[task] for group in groups if task in group.planned}) > 1 for task in wanted[family]):
            yield f"{family}: rows were played on different versions of some tasks"
    short = [family for family in families if _whole(family, wanted[family]) - wanted[family]]
    if short:
        yield f"ranks compare these rows on the tasks that they played: not the whole release in {' and '.join(short)}"
    if published:
        yield from (f"{family}, {source}" for family in families if (source := published_headline(family).source))


def _best_first(row: Mapping[str, Value]) -> tuple[float, str]:
    return -_number(row["mean"]), str(row["model"])


def _number(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else -1.0
