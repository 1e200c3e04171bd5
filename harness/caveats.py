"""Caveats: what has to be said beside a figure.

Bounds for ungraded episodes, faults of the set-up, what disturbed episodes, and turns that seats forfeited. Closing lines,
reports, leaderboards, exports and pages take their sentences from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from harness.causes import CAUSES, FORFEITS, CauseName
from harness.records import Forfeits, Result

SETUP_SHARE = 0.1
"""Share of episodes with a fault of the set-up above which the figures of a run are marked."""

_SILENT = frozenset({"declined"})
"""Forfeits that are no failure: a scripted player without an answer, a person who left."""


class UngradedBounds(NamedTuple):
    """A figure if all ungraded episodes had failed, and if all had succeeded."""

    failed: float
    succeeded: float
    causes: str
    """Ungraded episodes by who is responsible: `provider 6, setup 2`."""

    episodes: int
    """How many are ungraded."""

    def sentence(self, form: Callable[[float], str] = "{:.1%}".format) -> str:
        """Return the bounds in words, for brackets behind the figure."""
        many = f"the {self.episodes} ungraded episodes" if self.episodes > 1 else "the ungraded episode"
        return f"{form(self.failed)} to {form(self.succeeded)} if {many} had failed / succeeded: {self.causes}"


def bounds_of(
    graded: Iterable[Result],
    ungraded: Sequence[Result],
    value: Callable[[Result], float],
    stratum: Callable[[Result], Hashable] = lambda result: "",
) -> UngradedBounds | None:
    """Return the bounds of a mean of `value`, first over each stratum, then over strata; None without ungraded episodes."""
    if not ungraded:
        return None
    known: dict[Hashable, list[float]] = {}
    for result in graded:
        known.setdefault(stratum(result), []).append(value(result))
    lost = Counter(map(stratum, ungraded))
    failed, succeeded = (
        fmean(fmean([*known.get(one, ()), *[fill] * lost[one]]) for one in known.keys() | lost.keys()) for fill in (0.0, 1.0)
    )
    return UngradedBounds(failed, succeeded, ungraded_by(ungraded), len(ungraded))


def ungraded_by(ungraded: Iterable[Result]) -> str:
    """Return who is responsible for ungraded episodes, with counts: `provider 6, setup 2`."""
    return _counted(Counter(str(result.cause) for result in ungraded))


def ended_by(results: Iterable[Result]) -> str:
    """Return what ended episodes, with counts, in the words of the table of causes."""
    ended = Counter(result.ended_by for result in results if result.ended_by and result.stopped)
    return _clauses(Counter({CAUSES[name].message: count for name, count in ended.items()}))


def disturbed_by(results: Iterable[Result]) -> str:
    """Return what disturbed episodes without ending them, with the number of episodes."""
    return _clauses(Counter(CAUSES[name].message for result in results for name in result.disturbed))


def forfeits_of(results: Iterable[Result]) -> str:
    """Return why turns were forfeited, with the number of turns; those that seats declined are left out."""
    counts: Counter[str] = Counter()
    for result in results:
        for one in result.forfeits:
            counts[FORFEITS.get(one.cause, one.cause)] += one.count * (one.cause not in _SILENT)
    return _clauses(+counts)


def setup_caveat(results: Iterable[Result]) -> str:
    """Return the sentence that heads a run in which more than 10 % of the episodes met a fault of the set-up, or ""."""
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
    """Yield a clause for each seat and reason; turns that a seat declined are no failure and are left out."""
    for one in forfeits:
        if one.cause not in _SILENT:
            turns = f"{one.count} turn{'s' * (one.count != 1)}"
            yield f"seat {one.seat} forfeited {turns}: {FORFEITS.get(one.cause, one.cause)}"


def disturbances_told(result: Result) -> Iterator[str]:
    """Yield a clause for each row that disturbed an episode without ending it."""
    for name, count in result.disturbed.items():
        yield f"{CAUSES[name].message} ({count} time{'s' * (count != 1)})"


def _setup_rows(result: Result) -> set[CauseName]:
    named = {*result.disturbed, *([result.ended_by] if result.ended_by else [])}
    return {name for name in named if CAUSES[name].responsible == "setup"}


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _clauses(counts: Counter[str]) -> str:
    return ", ".join(f"{clause} ({count})" for clause, count in counts.most_common())
