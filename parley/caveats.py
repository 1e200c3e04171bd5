"""Caveats of results: bounds of a figure with ungraded episodes, forfeited turns, and disturbances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from harness.causes import CAUSES, FORFEITS
from harness.frames import grouped
from harness.headline import SILENT, Headline, cell_means, ungraded_by
from harness.records import Forfeits, Result


class UngradedBounds(NamedTuple):
    """Bounds of a figure: its value if all ungraded episodes had failed, and if all had succeeded."""

    failed: float
    succeeded: float
    causes: str
    """Ungraded episodes by responsible party: `provider 6, setup 2`."""

    episodes: int
    """Number of ungraded episodes."""

    def sentence(self, form: Callable[[float], str] = "{:.1%}".format) -> str:
        """Return the bounds as text, to be shown in brackets after the figure."""
        many = f"the {self.episodes} ungraded episodes" if self.episodes > 1 else "the ungraded episode"
        return f"{form(self.failed)} to {form(self.succeeded)} if {many} had failed / succeeded: {self.causes}"


def bounds_of(
    graded: Iterable[Result],
    ungraded: Sequence[Result],
    value: Callable[[Result], float],
    stratum: Callable[[Result], Hashable] = lambda result: "",
) -> UngradedBounds | None:
    """Return the bounds of a figure: the mean over strata of each stratum's mean `value`. None without ungraded episodes."""
    if not ungraded:
        return None
    known, lost = grouped(graded, stratum), Counter(map(stratum, ungraded))
    failed, succeeded = (
        fmean(fmean([*map(value, known.get(one, ())), *[fill] * lost[one]]) for one in known.keys() | lost.keys())
        for fill in (0.0, 1.0)
    )
    return UngradedBounds(failed, succeeded, ungraded_by(ungraded), len(ungraded))


def difference(first: Sequence[Result], second: Sequence[Result], headline: Headline) -> float | None:
    """Return the first player's mean minus the second's on one task, over the seeds of both; None without common seeds."""
    mine, theirs = cell_means(first, headline), cell_means(second, headline)
    both = [mine[cell] - theirs[cell] for cell in mine if cell in theirs]
    return fmean(both) if both else None


def forfeits_told(forfeits: Iterable[Forfeits]) -> Iterator[str]:
    """Yield a clause for each seat and cause. Turns that a seat declined are omitted, because they are not failures."""
    for one in forfeits:
        if one.cause not in SILENT:
            turns = f"{one.count} turn{'s' * (one.count != 1)}"
            yield f"seat {one.seat} forfeited {turns}: {FORFEITS.get(one.cause, one.cause)}"


def disturbances_told(result: Result) -> Iterator[str]:
    """Yield a clause for each cause that disturbed an episode without ending it."""
    for name, count in result.disturbed.items():
        yield f"{CAUSES[name].message} ({count} time{'s' * (count != 1)})"
