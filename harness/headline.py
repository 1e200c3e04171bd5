"""Headline figure of each family, its bounds, and the caveats shown with it.

The headline figure is the one that a family's paper ranks by, computed per episode, in 0..1. A family defines it in
`parley.families.<family>.headline` (`HEADLINE`); for other families it is the reward. A graded episode that ended before
anything was measured counts as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from harness.causes import CAUSES, FORFEITS, CauseName
from harness.frames import grouped
from harness.plugins import family_part_or_none
from harness.records import Forfeits, Result


class PublishedHeadline(NamedTuple):
    """Values published in a paper, shown beside ours without a rank."""

    figures: Mapping[str, float]
    """Value by model."""

    source: str


def _reward(result: Result) -> float:
    return result.reward or 0.0


@dataclass(frozen=True)
class Headline:
    """Headline figure of a family."""

    title: str = "mean reward"
    short: str = "Reward"
    """Column title."""

    value: Callable[[Result], float] = _reward
    """Value of one graded episode."""

    ranks: Callable[[Result], bool] = bool
    """True if an episode was played under the conditions of the paper's leaderboard; by default True for every episode."""

    published: str = ""
    """Entry `module:name` of a function that returns a `PublishedHeadline`, loaded by leaderboards; "" if there is none."""

    meaning: str = ""
    """Difference from the success rate and the mean reward; empty if the figure is one of these."""


def headline_of(family: str) -> Headline:
    """Return the headline figure of a family, by default its reward."""
    part = family_part_or_none(family, "headline")
    return part.HEADLINE if part else Headline()


def cell_means(results: Iterable[Result], headline: Headline) -> dict[tuple[str, int], float]:
    """Return the mean over graded attempts for each task and seed."""
    cells = grouped((one for one in results if one.status == "graded"), lambda one: (one.task_id, one.seed))
    return {cell: fmean(map(headline.value, attempts)) for cell, attempts in cells.items()}


def task_means(results: Iterable[Result], headline: Headline) -> dict[str, float]:
    """Return the figure of each task: the mean over its seeds of the mean over each seed's graded attempts that rank."""
    means = cell_means(filter(headline.ranks, results), headline)
    return {task: fmean(means[cell] for cell in cells) for task, cells in grouped(means, lambda cell: cell[0]).items()}


def figure_words(family: str, results: Iterable[Result]) -> str:
    """Return a family's figure over some episodes, as `Ypost % 26.8`; "" if the figure is the success rate or the reward."""
    headline = headline_of(family)
    means = task_means(results, headline) if headline.meaning else {}
    return f"{headline.short} {100 * fmean(means.values()):.1f}" if means else ""


def difference(first: Sequence[Result], second: Sequence[Result], headline: Headline) -> float | None:
    """Return the first player's mean minus the second's on one task, over the seeds of both; None without common seeds."""
    mine, theirs = cell_means(first, headline), cell_means(second, headline)
    both = [mine[cell] - theirs[cell] for cell in mine if cell in theirs]
    return fmean(both) if both else None


SETUP_SHARE = 0.1
"""Share of episodes with a fault of the set-up above which the figures of a run are marked."""

_SILENT = frozenset({"declined"})
"""Forfeits that are not failures: a scripted player had no answer, or a person left."""


class UngradedBounds(NamedTuple):
    """Bounds of a figure: its value if all ungraded episodes had failed, and if all had succeeded."""

    failed: float
    succeeded: float
    causes: str
    """Ungraded episodes by responsible party: `provider 6, setup 2`."""

    episodes: int
    """Number of ungraded episodes."""

    def sentence(self, form: Callable[[float], str] = "{:.1%}".format) -> str:
        """Return the bounds as text, for brackets after the figure."""
        many = f"the {self.episodes} ungraded episodes" if self.episodes > 1 else "the ungraded episode"
        return f"{form(self.failed)} to {form(self.succeeded)} if {many} had failed / succeeded: {self.causes}"


def bounds_of(
    graded: Iterable[Result],
    ungraded: Sequence[Result],
    value: Callable[[Result], float],
    stratum: Callable[[Result], Hashable] = lambda result: "",
) -> UngradedBounds | None:
    """Return the bounds of the mean over strata of each stratum's mean `value`; None without ungraded episodes."""
    if not ungraded:
        return None
    known, lost = grouped(graded, stratum), Counter(map(stratum, ungraded))
    failed, succeeded = (
        fmean(fmean([*map(value, known.get(one, ())), *[fill] * lost[one]]) for one in known.keys() | lost.keys())
        for fill in (0.0, 1.0)
    )
    return UngradedBounds(failed, succeeded, ungraded_by(ungraded), len(ungraded))


def ungraded_by(ungraded: Iterable[Result]) -> str:
    """Return the responsible parties of ungraded episodes, with counts: `provider 6, setup 2`."""
    return ", ".join(f"{name} {count}" for name, count in Counter(str(result.cause) for result in ungraded).most_common())


def ended_by(results: Iterable[Result]) -> str:
    """Return the causes that ended episodes, with counts, in the wording of the table of causes."""
    ended = Counter(result.ended_by for result in results if result.ended_by and result.stopped)
    return _clauses(Counter({CAUSES[name].message: count for name, count in ended.items()}))


def disturbed_by(results: Iterable[Result]) -> str:
    """Return the causes that disturbed episodes without ending them, with the number of episodes."""
    return _clauses(Counter(CAUSES[name].message for result in results for name in result.disturbed))


def forfeits_of(results: Iterable[Result]) -> str:
    """Return the number of forfeited turns by reason, without turns that seats declined."""
    counts: Counter[str] = Counter()
    for result in results:
        for one in result.forfeits:
            counts[FORFEITS.get(one.cause, one.cause)] += one.count * (one.cause not in _SILENT)
    return _clauses(+counts)


def setup_caveat(results: Iterable[Result]) -> str:
    """Return the sentence that heads a run with a fault of the set-up in more than 10 % of its episodes, or ""."""
    met, every, rows = 0, 0, Counter[str]()
    for result in results:
        faults = _setup_rows(result)
        met, every = met + bool(faults), every + 1
        rows.update(CAUSES[name].message for name in faults)
    if met <= SETUP_SHARE * every:
        return ""
    share = f"{met} of {every} episodes ({met / every:.0%})"
    return f"SET-UP: {share} met a fault of the set-up, so the figures say little about the model: {_clauses(rows)}"


def forfeits_told(forfeits: Iterable[Forfeits]) -> Iterator[str]:
    """Yield a clause for each seat and reason, without turns that a seat declined, which are not failures."""
    for one in forfeits:
        if one.cause not in _SILENT:
            turns = f"{one.count} turn{'s' * (one.count != 1)}"
            yield f"seat {one.seat} forfeited {turns}: {FORFEITS.get(one.cause, one.cause)}"


def disturbances_told(result: Result) -> Iterator[str]:
    """Yield a clause for each cause that disturbed an episode without ending it."""
    for name, count in result.disturbed.items():
        yield f"{CAUSES[name].message} ({count} time{'s' * (count != 1)})"


def _setup_rows(result: Result) -> set[CauseName]:
    named = {*result.disturbed, *([result.ended_by] if result.ended_by else [])}
    return {name for name in named if CAUSES[name].responsible == "setup"}


def _clauses(counts: Counter[str]) -> str:
    return ", ".join(f"{clause} ({count})" for clause, count in counts.most_common())
