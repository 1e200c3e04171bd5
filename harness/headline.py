"""The one figure that a family's paper ranks by, from one episode: what comparisons, leaderboards and early stopping share.

A family says it in `harness.families.<family>.headline` (`HEADLINE`); a family without one is measured by its reward. Values
lie in 0..1 and more is better. A graded episode that broke off before anything was measured is worth 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.modules import family_part_or_none
from harness.records import Result


@dataclass(frozen=True)
class PublishedFigure:
    """One value of a paper, which stands beside ours and has no rank."""

    model: str
    value: float


def _reward(result: Result) -> float:
    return result.reward or 0.0


def _nothing() -> Iterable[PublishedFigure]:
    return ()


@dataclass(frozen=True)
class Headline:
    """A family's headline figure."""

    title: str = "mean reward"
    short: str = "Reward"
    """As a column is called."""

    value: Callable[[Result], float] = _reward
    """Of one graded episode."""

    ranks: Callable[[Result], bool] = bool
    """Whether an episode was played under the conditions that the paper's leaderboard is of: any, unless told."""

    published: Callable[[], Iterable[PublishedFigure]] = _nothing
    source: str = ""
    """Where the published figures come from."""

    meaning: str = ""
    """How it differs from the success rate and the mean reward; empty where it is one of these."""


def headline_of(family: str) -> Headline:
    """The headline figure of a family, or its reward."""
    part = family_part_or_none(family, "headline")
    return part.HEADLINE if part else Headline()


def cell_means(results: Iterable[Result], headline: Headline) -> dict[tuple[str, int], float]:
    """The mean over graded attempts at each task and seed."""
    by_cell: dict[tuple[str, int], list[float]] = {}
    for result in results:
        if result.status == "graded":
            by_cell.setdefault((result.task_id, result.seed), []).append(headline.value(result))
    return {cell: fmean(values) for cell, values in by_cell.items()}


def task_means(results: Iterable[Result], headline: Headline) -> dict[str, float]:
    """Return the figure of each task: the mean over its seeds, each the mean over its graded attempts that rank."""
    by_task: dict[str, list[float]] = {}
    for (task, _), value in cell_means((result for result in results if headline.ranks(result)), headline).items():
        by_task.setdefault(task, []).append(value)
    return {task: fmean(values) for task, values in by_task.items()}


def figure_words(family: str, results: Iterable[Result]) -> str:
    """Return a family's figure over some episodes, as `Ypost % 26.8`; empty where success or reward says it already."""
    headline = headline_of(family)
    means = task_means(results, headline) if headline.meaning else {}
    return f"{headline.short} {100 * fmean(means.values()):.1f}" if means else ""


def difference(first: Sequence[Result], second: Sequence[Result], headline: Headline) -> float | None:
    """The first player minus the second at one task: over the seeds that both have; None where there is no such seed."""
    mine, theirs = cell_means(first, headline), cell_means(second, headline)
    both = [mine[cell] - theirs[cell] for cell in mine if cell in theirs]
    return fmean(both) if both else None
