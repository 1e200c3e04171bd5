"""Headline figure of each family, and the caveats shown with it.

The headline figure is the one that a family's paper ranks by, computed per episode, in 0..1. A family defines it in
`parley.families.<family>.headline` (`HEADLINE`); for other families it is the reward. A graded episode that ended before its
figure was measured counts as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from harness.causes import CAUSES, FORFEITS, CauseName
from harness.frames import grouped
from harness.plugins import family_part_or_none
from harness.records import Result


class PublishedHeadline(NamedTuple):
    """Values published in a paper, shown beside ours without a rank."""

    figures: Mapping[str, float]
    """Value by model."""

    source: str


@dataclass(frozen=True)
class Headline:
    """Headline figure of a family."""

    title: str = "mean reward"
    short: str = "Reward"
    """Column title."""

    value: Callable[[Result], float] = lambda result: result.reward or 0.0
    """Value of one graded episode."""

    ranks: Callable[[Result], bool] = bool
    """True if an episode was played under the conditions of the paper's leaderboard; by default True for every episode."""

    published: str = ""
    """Entry `module:name` of a function that returns a `PublishedHeadline`, loaded by leaderboards; "" if there is none."""

    meaning: str = ""
    """Explanation of the difference from the success rate and the mean reward; empty if the figure is one of these."""


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


SETUP_SHARE = 0.1
"""Share of episodes with a fault of the set-up above which the figures of a run are marked."""

SILENT = frozenset({"declined"})
"""Reasons of forfeits that are not failures: a scripted player had no answer, or a person left."""


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
            counts[FORFEITS.get(one.cause, one.cause)] += one.count * (one.cause not in SILENT)
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


def _setup_rows(result: Result) -> set[CauseName]:
    named = {*result.disturbed, *([result.ended_by] if result.ended_by else [])}
    return {name for name in named if CAUSES[name].responsible == "setup"}


def _clauses(counts: Counter[str]) -> str:
    return ", ".join(f"{clause} ({count})" for clause, count in counts.most_common())
